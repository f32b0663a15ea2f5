// What the files of `tilesmith tune` share: its options, what follows from them, and the three things that it can do.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "db/exchange/recording.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/output/logging.hpp"
#include "tuner/loop/tune.hpp"
#include "tuner/supervisor/supervision.hpp"

namespace tilesmith::tuner {

struct TuneCommandOptions {
  ProblemOptions problems;
  TuneOptions tune;  // strategy, families, max_candidates, seed, only_finalists; prepare_tune() adds the rest
  std::optional<int> finalists;
  int compile_jobs = 0;
  std::string budget, as, db, record, arch, device = "0", time_limit = "20s";
  std::string peer;   // empty: as can be
  std::string shard;  // empty: as the environment has it
  std::vector<std::string> replays;
  bool unproven = false;
  bool dry_run = false;
  bool board = false;  // one of several tuners, started by a supervising one
  LogOptions log;
};

/// What the run works on, known before anything is written.
struct PreparedTune {
  Workload workload;
  std::optional<GivenShard> shard;  ///< what of the workload it is
  std::size_t whole = 0;            ///< problems of the whole workload
  TuneOptions tune;
  std::vector<TuneDevice> devices;         ///< at least one; with --arch one that is not there
  std::optional<db::Recording> recording;  ///< of the only device, if it is a recording
  std::chrono::duration<double> time_limit{0};
};

/// Throws UsageError for what cannot be meant, or cannot be done here.
PreparedTune prepare_tune(const TuneCommandOptions& options);

/// What an exhaustive run would try.
void print_dry_run(const PreparedTune& prepared);

/// A tuner process for each device, all on one database and, of one model, on one board of slices. Returns the exit
/// status.
int tune_on_several(const TuneCommandOptions& options, const PreparedTune& prepared);

/// The store that the options name, made if it is missing; in memory for a replay without --db.
db::Store open_tune_store(const TuneCommandOptions& options);

/// " of workload quick; strategy forest, seed 1, budget 10 min": what is tuned, for the log. `on`: the devices.
std::string announcement(const TuneCommandOptions& options, const PreparedTune& prepared, const std::string& on);

}  // namespace tilesmith::tuner
