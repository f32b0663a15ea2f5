// What this program makes of every recorded candidate: its plan, and its kernels' machine code. Two programs' can be
// compared (scripts/same_code.sh).
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "db/store/store.hpp"
#include "kernels/families/plan_hash.hpp"

namespace tilesmith::tuner {

/// A candidate of the store for which this program has a plan.
struct RecordedPlan {
  Config config;
  KernelTarget target;
  std::string recorded;  ///< the plan hash of its latest entry
  std::string plan, launches, kernel;
  std::string problem;  ///< its text
};

/// Each problem and config once for the compiler options it was recorded with, by problem and config.
std::vector<RecordedPlan> recorded_plans(const db::Store& store);

/// A line each, tabs between recorded, plan, launches and kernel hash, architecture, problem and config; the first line
/// names them.
std::string plans_table(const std::vector<RecordedPlan>& plans);

/// Compiles each kernel once, on all cores; with `every` above 1 those of every so many-th candidate. Writes
/// FOLDER/HASH.cu (the source), HASH.cubin and HASH.txt (registers, bytes of spills and of static shared memory, or why
/// there is no cubin). Existing files are kept. `done` is called for each. False if it was stopped. Throws
/// std::runtime_error if NVRTC is not usable, StoreError if a file cannot be written.
bool write_kernels(const std::vector<RecordedPlan>& plans, std::size_t every, const std::filesystem::path& folder,
    const std::atomic<bool>& stop, const std::function<void(std::size_t done, std::size_t all)>& done);

}  // namespace tilesmith::tuner
