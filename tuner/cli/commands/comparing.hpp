// What `compare` and `report --against` share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/bests/compare.hpp"
#include "tuner/wanted.hpp"

namespace tilesmith::tuner {

/// One side's bests, those that are retired included. `device`: as --device. Throws UsageError if the database knows
/// none such.
std::vector<db::JudgedBest> bests_to_compare(
    const std::string& database, const std::string& device, Wanted wanted = {});

/// nullopt: none was given.
std::optional<Workload> workload_to_compare(const std::vector<std::string>& workloads);

/// compare(), which throws UsageError where devices must be named.
Comparison compared(
    const std::vector<db::JudgedBest>& a, const std::vector<db::JudgedBest>& b, const CompareOptions& options);

}  // namespace tilesmith::tuner
