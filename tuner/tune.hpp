// The tune loop: problems × strategy × evaluator → store. Knows no CUDA, no terminal.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "tuner/evaluator.hpp"
#include "tuner/workload.hpp"

namespace tilesmith::tuner {

struct TuneOptions {
  std::string strategy = "local";
  std::uint64_t seed = 1;
  std::chrono::duration<double> budget{0};        ///< 0: none
  std::int64_t max_candidates = 0;                ///< a problem; 0: none
  std::vector<std::string> families;              ///< empty: all
  int finalists = 5;                              ///< in the play-off
  std::string command;                            ///< for the run's record
  std::string workload_name;
};

/// What a progress display needs. `best_us` is 0 while there is none.
struct Progress {
  std::size_t problem_index = 0, problem_count = 0;
  Problem problem;
  std::int64_t done = 0, left = 0, failed = 0, reused = 0;
  double best_us = 0;
  std::string best_config;
  double seconds_elapsed = 0, seconds_left = 0;   ///< left: of the budget; 0 if there is none
  std::optional<Evaluated> last;                  ///< the outcome this call reports, if it reports one
};

struct TuneResult {
  std::string ended_how;      ///< "done", "budget", "interrupted"
  std::int64_t evaluated = 0, failed = 0, reused = 0;
  std::string run;            ///< uuid
};

/// Tunes every problem. Each outcome is committed to the store before the next is looked at. Evidence already in the
/// store for the same candidate, device and producer is used and not repeated. `stop` ends the loop cleanly.
TuneResult tune(const Workload& workload, const TuneOptions& options, Evaluator& evaluator, db::Store& store,
                const std::function<void(const Progress&)>& on_progress, const std::atomic<bool>& stop);

}  // namespace tilesmith::tuner
