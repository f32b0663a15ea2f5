// The tune loop: problems × strategy × evaluator → store. Knows no CUDA, no terminal. It writes runs and records; builds and
// proofs are the evaluator's to write.
//
// For each problem, in the order given, less what other tuners of the database work on (time_slices.hpp):
//   1. the legal configs of the chosen families that the problem does not refuse and the evaluator knows;
//   2. records of this very candidate, device and environment, failures included, is reused and never repeated; records
//      that rests on another driver or NVRTC is to be tried again, and so is what failed by the machine's doing
//      (Outcome::by_machine), once a run: that is told, and there is no record;
//   3. initial configs, in this order: those records, fastest first; what was fastest here before the kernel, its launches, the options
//      or the measuring policy changed, a few configs; what a model of other problems' records promises most of and what was best
//      for problems near this one, of whatever type and transposes, nearest first, in turn with the families' own initial configs;
//      the known ladder (initial_configs.hpp);
//   4. initial configs alone until ten configs have a time, then in turn with what the strategy proposes (Hints in strategy.hpp);
//   5. meanwhile the evaluator may prepare what the next problem will try first, and will play off of what is known;
//   6. at the end the best are played off interleaved. The final benchmark's times are recorded as newer records of the same
//      candidates, so they are the ones that count;
//   7. the vendor's library plays along in its rounds, and what it took is stored with the entries beside it (db/store/vendor_times.hpp). A
//      problem whose best has no such times, or nothing new, gets a round for it alone.
//
// With `only_finalists` there is no search: what is on record by former policies, kernels or drivers gives each problem its candidates
// (former_finalists), which go through 2, 5 and 6 as others do. Those that have records of today are not tried again, so such a
// run goes on where one before it ended.
//
// Within a run the best is the fastest by times that compare, equal ones by config text; it steers search and final benchmark. No best is
// stored: when records are read, db::rank (db/store/ranked.hpp) puts candidates in order, and Chooser (runtime/choose) says which config runs.
// Medians are stored as measured; the final benchmark narrows the noise in them, nothing rounds it away. Candidates
// whose single lucky times beat every played-off median are drawn into further rounds before they can win, beside the winner,
// whose time stands and scales theirs. Rounds go on for a third of what the slice took before, six in any case, and none begins once the run is over; what is then not
// decided is taken up in the next slice. The time of a best that was played off in an earlier night stands as well: newcomers play beside it, short ones
// even if their single times are up to 5% behind, which a slower night may account for.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "db/store/store.hpp"
#include "tuner/evaluator.hpp"
#include "tuner/schedule/expected_gain.hpp"
#include "tuner/search/strategy.hpp"
#include "tuner/workload.hpp"

namespace tilesmith::tuner {

class GpuQueue;
class SliceBoard;

struct TuneOptions {
  std::string strategy{kDefaultStrategy};
  std::uint64_t seed = 1;
  std::chrono::duration<double> budget{0};  ///< 0: none
  std::int64_t max_candidates = 0;          ///< a problem, reused records included; 0: none
  std::vector<std::string> families;        ///< empty: all
  int finalists = 8;                        ///< in the final benchmark; fewer than 2: no final benchmark
  bool vendor = false;                      ///< the vendor's library is timed beside them, where the evaluator has it
  bool only_finalists = false;              ///< nothing is searched: so many of what is on record are timed again and played off
  std::string command;                      ///< for the run's record
  std::string workload_name;                ///< for the run's record; empty: the workload's own
  GpuQueue* gpu = nullptr;                  ///< for a GPU that other tuners may share: they take turns
  SliceBoard* board = nullptr;               ///< of the tuners that share this run; its end then counts and not `budget`
  int tuner = 0;                            ///< this one's number there
  std::function<double()> clock_seconds;    ///< steady clock if empty; tests bring their own
};

/// What a progress display needs. `best_us` is 0 while there is none.
struct Progress {
  std::size_t problem_index = 0, problem_count = 0;
  Problem problem;
  /// Candidates of this problem. `done` counts evaluated and reused ones, `failed` those of them that are not ok.
  std::int64_t done = 0, left = 0, failed = 0, reused = 0;
  double best_us = 0;
  std::string best_config;
  double seconds_elapsed = 0, seconds_left = 0;  ///< left: of the budget; 0 if there is none
  std::uint32_t slice = 1;                        ///< of this problem's slices
  Trend trend;                                   ///< of all its evaluations, known ones included
  bool gave_up_time = false;                     ///< it has settled, and the rest of its slice's time is for other problems
  std::optional<Evaluated> last;                 ///< the outcome this call reports, if it reports one
};

struct TuneResult {
  std::string ended_how;                               ///< "done", "budget", "interrupted"
  std::int64_t evaluated = 0, failed = 0, reused = 0;  ///< of all problems; `failed`: of the evaluated ones
  std::int64_t compile_failed = 0;                     ///< of the evaluated and reused ones
  std::string run;                                     ///< uuid
  std::vector<Problem> set_aside;                      ///< measuring failed on them, as the log says; their records are not complete
};

/// Tunes every problem that no other tuner of this database has locked for such a device, and comes back for those
/// (time_slices.hpp); waits for what others have. Each outcome is committed to the store before the next is looked at, and before on_progress
/// hears of it. Records already in the store for the same candidate, device and environment is used and not repeated.
///
/// The budget is shared by weight at first (where weights are calls, by calls x time, the largest share first: call_shares.hpp): a problem gets what is left of it × its weight / the weights still to come, so time
/// that one problem leaves over flows on to the next; tuners on one board share out the time of all. A problem whose last
/// doubling of evaluations brought nothing gives up the last third of its share (expected_gain.hpp; what an earlier run spent on it counts,
/// so that a resumed run goes where that one would have gone). What is given up goes to the problems of which most is
/// expected, weight × time × gain, in further slices (time_slices.hpp). Candidates are no longer submitted when those in flight are
/// expected to fill the rest of a problem's slice; those in flight are waited for.
///
/// `stop` ends the loop cleanly after the outcome being waited for; what else is in flight is left to the evaluator,
/// and there is no final benchmark. The run then ends as "interrupted", and as "budget" if a problem had something left to try.
///
/// A problem on which measuring fails (EvaluatorError: the evaluator's, or as the machine fails on many candidates one after the other)
/// is set aside for this run, with an error in the log, and the others are tuned. Where that comes before anything had a time on two
/// problems in a row that any device has memory for, and what is known to have worked on another one fails now too, or on all
/// problems, nothing works, and it ends the run.
///
/// Throws std::invalid_argument (one line) for an unknown strategy or family or a problem that is not well formed,
/// before anything is written. What else the evaluator, the store or on_progress throw ends the run as "failed: ..." and is
/// rethrown.
TuneResult tune(const Workload& workload, const TuneOptions& options, Evaluator& evaluator, db::Store& store,
                const std::function<void(const Progress&)>& on_progress, const std::atomic<bool>& stop);

}  // namespace tilesmith::tuner
