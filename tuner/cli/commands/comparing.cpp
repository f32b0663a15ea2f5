#include "tuner/cli/commands/comparing.hpp"

#include <stdexcept>

#include "tuner/bests/bests_today.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/options/target.hpp"

namespace tilesmith::tuner {

std::vector<db::JudgedBest> bests_to_compare(const std::string& database, const std::string& device, Wanted wanted) {
  const db::Store store = db::Store::open_read_only(database);
  require_known_device(store, device);
  wanted.device = device;
  wanted.know(store.devices());
  return bests_today(store, wanted, true).bests;
}

std::optional<Workload> workload_to_compare(const std::vector<std::string>& workloads) {
  if (workloads.empty()) return std::nullopt;
  ProblemOptions problems;
  problems.workloads = workloads;
  return select_problems(problems);
}

Comparison compared(const std::vector<db::JudgedBest>& a, const std::vector<db::JudgedBest>& b, const CompareOptions& options) {
  try {
    return compare(a, b, options);
  } catch (const std::invalid_argument& error) {
    throw UsageError(std::string("--device: ") + error.what() + "; expected --device twice, A's first");
  }
}

}  // namespace tilesmith::tuner
