// One slice of a task: ask, submit, record, observe, until its space or its share of the time is used up, or nothing
// more is expected of it while others could use the time; then the final benchmark of the best.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tuner/loop/tune.hpp"
#include "tuner/loop/tune_start.hpp"
#include "tuner/schedule/time_slices.hpp"
#include "tuner/search/strategy.hpp"

namespace tilesmith::tuner {

/// Of the last `memory` values, about; of all while they are fewer.
class RunningMean {
 public:
  explicit RunningMean(int memory) : memory_(memory) {}
  void add(double value) {
    count_ = std::min(count_ + 1, memory_);
    mean_ += (value - mean_) / count_;
  }
  double value() const { return mean_; }  ///< 0: unknown

 private:
  int memory_, count_ = 0;
  double mean_ = 0;
};

/// What the tasks of one run share.
struct TuneRun {
  const TuneOptions& options;
  Evaluator& evaluator;
  db::Store& store;
  const std::function<void(const Progress&)>& on_progress;
  const std::atomic<bool>& stop;
  std::function<double()> clock_seconds;
  double started = 0;                                     // on that clock
  double ends = std::numeric_limits<double>::infinity();  // when the budget is used up
  std::size_t task_count = 0;
  RunningMean first_outcome_seconds{5};  // from a task's start to its first outcome: its first compilations
  RunningMean candidate_seconds{64};     // between two later outcomes; they come in bursts as long as what is in flight
  RunningMean final_benchmark_seconds{5};  // of one task
  RunningMean beyond_share_seconds{16};    // by which a first slice was longer than its share; less than 0: shorter
  TuneResult result;
  // By task: what are no records of this run.
  std::map<std::string, std::vector<std::pair<Config, db::Outcome>>> tried_otherwise;
  int machine_failures = 0;    // of candidates one after the other
  bool nothing_works = false;  // for all that is known: on the last task measuring failed before anything had a time
  bool any_timed = false;

  /// What a slice takes before it is worth its beginning and its end.
  double least_slice_seconds() const;
};

/// Commits one outcome as a record of this run, that of a replay as it was recorded; what the machine failed on is told
/// instead.
void record_outcome(
    TuneRun& run, StartingPoints& starting_points, const Candidate& candidate, const db::Outcome& outcome);

/// The same of what was submitted, which the run's result counts.
void record_evaluated(TuneRun& run, StartingPoints& starting_points, const Evaluated& evaluated);

enum class TaskEnding { done, out_of_time, interrupted };

class TaskTuning {
 public:
  TaskTuning(TuneRun& run, StartingPoints& starting_points, const Task& task, const TimeSlices::Slice& slice);
  TaskEnding run();

  /// After run(): how many candidates it tried, and what the slice leaves to others.
  std::int64_t submitted() const { return submitted_; }
  std::int64_t timed() const { return timed_; }  ///< of these
  SliceBoard::Rest rest() const;

 private:
  void add_what_was_tried_otherwise();
  void reuse_known();
  TaskEnding search();
  void prepare_next();
  void announce_next(bool wait);
  void submit_untuned();
  void submit_more();
  void submit(std::size_t index);
  double seconds_each() const;
  std::size_t how_many_more();
  bool gives_up_time(double now) const;
  void take(const Evaluated& evaluated);
  void end_if_the_machine_fails(const db::Outcome& outcome);
  void note(std::size_t index, const db::Outcome& outcome);
  Trend trend() const;
  void set_best(std::size_t index);
  double final_benchmark_reserve() const;
  void final_benchmark();
  bool play_finalists();
  void time_vendor();
  bool is_vendor_wanted() const;
  bool has_vendor_times(std::size_t index) const;
  std::vector<db::Outcome> play_round(const std::vector<Config>& configs, std::optional<db::VendorTimes>& vendor);
  void take_vendor(std::optional<db::VendorTimes> vendor, bool comparable);
  bool is_known_reason(const db::VendorTimes& times) const;
  void record_vendor();
  std::vector<std::size_t> untuned() const;
  std::vector<std::size_t> first_to_play(std::optional<std::size_t> known_best) const;
  std::vector<std::size_t> winner_and_challengers() const;
  bool final_benchmark_round(const std::vector<std::size_t>& finalists, Score winner_us);
  std::optional<std::size_t> fastest(const std::function<bool(std::size_t)>& among) const;
  std::function<Config(std::size_t)> config_of() const;
  std::vector<std::size_t> finalists() const;  ///< the fastest first
  void report(std::optional<Evaluated> last);

  TuneRun& run_;
  StartingPoints& starting_points_;
  const Task task_;
  const Task* const next_;  // null: none
  const Task* const after_next_;
  const double floor_us_;
  StartingPoint start_;
  const double began_, deadline_;  // on the run's clock; infinity if there is no end
  const bool others_could_use_it_;
  std::unique_ptr<Strategy> strategy_;
  std::vector<Score> time_us_;    // by index
  std::vector<char> disturbed_;   // by index: whether the time is of a disturbed device
  std::vector<char> in_flight_;   // by index
  std::vector<char> tried_now_;   // by index: in this slice
  std::vector<char> of_before_;   // by index: what is known of it is of another run, which had another night's device
  std::vector<char> played_off_;  // by index: its time compares with those of the others
  double final_benchmark_scale_ = 1;       // times that count over those measured, of its last round
  std::set<std::size_t> beside_vendor_;    // indices whose times are of rounds of this final benchmark that compare
  std::optional<db::VendorTimes> vendor_;  // of the last such round that had any; on their scale
  std::int64_t submitted_ = 0, pending_ = 0, timed_ = 0;
  bool out_of_time_ = false;
  double last_outcome_at_ = 0;
  double spare_seconds_ = 0;      // given up
  std::vector<double> curve_us_;  // best after each evaluation, known ones first in the order in which they were tried
  double best_spread_ = 0;
  std::optional<Incumbent> incumbent_;
  Progress progress_;
};

}  // namespace tilesmith::tuner
