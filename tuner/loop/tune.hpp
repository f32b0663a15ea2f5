// The tune loop: tasks × strategy × evaluator → store. It uses no CUDA and no terminal, and writes runs and records;
// builds and proofs are written by the evaluator.
//
// For each task, in the order given, except those that other tuners of the database work on (time_slices.hpp):
//   1. Its space: the legal configs of the chosen families that the task does not refuse and the evaluator knows.
//   2. Records of this very candidate, device and environment, failures included, are reused. Records of another driver
//      or NVRTC are tried again, and so, once a run, is what failed by the machine's doing (Outcome::by_machine), which
//      is never recorded.
//   3. What the library would run for the task (untuned_choices.hpp): the slice goes on until it has a time, or the
//      next of the library's ranking if it fails, and it is a finalist. So no finished run makes a task slower.
//   4. Initial configs (initial_configs.hpp): alone until ten configs have a time, then in turn with what the strategy
//      proposes (Hints in strategy.hpp). Meanwhile the evaluator may prepare what the next task will try first and
//      play off.
//   5. The final benchmark: the best candidates are timed interleaved. Its times are newer records of the same
//      candidates, so they are the ones that count.
//   6. The vendor's library plays in the same rounds (db/store/vendor_times.hpp). If the best has no such times, or
//      there was nothing to play, it gets a round of its own.
//
// With `only_finalists` nothing is searched: the candidates are what former policies, kernels or drivers recorded
// (former_finalists). Those that have records of today are not tried again, so such a run goes on where one before it
// ended.
//
// Within a run the best is the fastest by times that compare, equal ones by config text. It steers search and final
// benchmark and is not stored: readers rank with db::rank (db/store/ranked.hpp) and choose with Chooser
// (runtime/choose). Medians are stored as measured. Candidates whose single times beat every time of the final
// benchmark are drawn into further rounds beside the winner, whose time stands and scales theirs, before they can win.
// There are six rounds, and more while they take less than a third of what the slice took before; none begins once the
// run is over. The best of an earlier night stands as well: newcomers play beside it, short ones even if their single
// times are up to 5% behind, which a slower night may account for.
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
  std::int64_t max_candidates = 0;          ///< a task, reused records included; 0: none
  std::vector<std::string> families;        ///< empty: all
  int finalists = 8;                        ///< in the final benchmark; fewer than 2: no final benchmark
  bool vendor = false;                      ///< the vendor's library is timed beside them, where the evaluator has it
  bool only_finalists = false;  ///< nothing is searched: so many of what is on record are timed again and played off
  std::string command;          ///< for the run's record
  std::string workload_name;    ///< for the run's record; empty: the workload's own
  GpuQueue* gpu = nullptr;      ///< for a GPU that other tuners may share: they take turns
  SliceBoard* board = nullptr;  ///< of the tuners that share this run; its end then counts and not `budget`
  int tuner = 0;                ///< this one's number there
  std::function<double()> clock_seconds;  ///< steady clock if empty; tests bring their own
};

/// What a progress display needs. `best_us` is 0 while there is none.
struct Progress {
  std::size_t task_index = 0, task_count = 0;
  Task task;
  /// Candidates of this task. `done` counts evaluated and reused ones, `failed` those of them that are not ok.
  std::int64_t done = 0, left = 0, failed = 0, reused = 0;
  double best_us = 0;
  std::string best_config;
  double seconds_elapsed = 0, seconds_left = 0;  ///< left: of the budget; 0 if there is none
  std::uint32_t slice = 1;                       ///< of this task's slices
  Trend trend;                                   ///< of all its evaluations, known ones included
  bool gave_up_time = false;      ///< it has settled, and the rest of its slice's time is for other tasks
  std::optional<Evaluated> last;  ///< the outcome this call reports, if it reports one
};

struct TuneResult {
  std::string ended_how;                               ///< "done", "budget", "interrupted"
  std::int64_t evaluated = 0, failed = 0, reused = 0;  ///< of all tasks; `failed`: of the evaluated ones
  std::int64_t compile_failed = 0;                     ///< of the evaluated and reused ones
  std::string run;                                     ///< uuid
  std::vector<Task> set_aside;  ///< measuring failed on them, as the log says; their records are not complete
};

/// Tunes every task that no other tuner of this database has locked for such a device, then waits for those that
/// others have and takes them up (time_slices.hpp). Each outcome is committed to the store before the next is looked
/// at, and before on_progress hears of it.
///
/// The budget is shared by weight (by calls x time where weights are calls: call_shares.hpp): a task gets what is
/// left × its weight / the weights still to come, so that time which one leaves over flows on. A task whose last
/// doubling of evaluations brought nothing gives up the last third of its share (expected_gain.hpp; what an earlier run
/// spent on it counts), and that goes to the tasks of which most is expected. No candidate is submitted once those
/// in flight are expected to fill the rest of the slice; those in flight are waited for.
///
/// `stop` ends the loop after the outcome being waited for, without a final benchmark; the run ends as "interrupted".
/// It ends as "budget" if a task had something left to try.
///
/// A task on which measuring fails (EvaluatorError) is set aside for this run, with an error in the log, and the
/// others are tuned. The error ends the run if nothing works: it came before anything had a time, on two tasks in a
/// row that any device has memory for, and what worked on another task fails now too; or on all tasks.
///
/// Throws std::invalid_argument (one line) for an unknown strategy or family or a task that is not well formed,
/// before anything is written. What else the evaluator, the store or on_progress throw ends the run as "failed: ..."
/// and is rethrown.
TuneResult tune(const Workload& workload, const TuneOptions& options, Evaluator& evaluator, db::Store& store,
    const std::function<void(const Progress&)>& on_progress, const std::atomic<bool>& stop);

}  // namespace tilesmith::tuner
