#include "tuner/loop/tune_task.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cmath>
#include <stdexcept>

#include "db/files/merge.hpp"
#include "kernels/families/estimate.hpp"
#include "kernels/families/plan_hash.hpp"
#include "tuner/peaks.hpp"
#include "tuner/warm_start/finalists.hpp"

namespace tilesmith::tuner {
namespace {

constexpr int kMostMachineFailures = 8;  // one after the other; a few are a moment's, as where compilers have no memory

/// Of the cycles that a config of the space takes; 0 for all of a family that estimates none. The space must outlive
/// it.
std::function<double(std::size_t)> estimates_of(
    const SearchSpace& space, const Task& task, const DeviceLimits& limits) {
  if (!task.is_gemm()) return [](std::size_t) { return 0; };
  const Problem& problem = task.problem();
  return [&space, problem, target = KernelTarget{problem, limits}](std::size_t index) {
    const std::optional<Estimate> made = estimate(space.config(index), target, problem);
    return made ? made->cycles : 0;
  };
}

}  // namespace

void record_outcome(
    TuneRun& run, StartingPoints& starting_points, const Candidate& candidate, const db::Outcome& outcome) {
  if (outcome.by_machine) {
    spdlog::warn("{} {}: {}; not recorded, a later run may try it again", text(candidate.task), candidate.config.text(),
        outcome.message);
    run.tried_otherwise[text(candidate.task)].push_back({candidate.config, outcome});
    return;
  }
  if (run.evaluator.is_replay()) {
    if (auto entry = run.evaluator.entry(candidate.task, candidate.config)) {
      entry->run = run.result.run;  // whose outcome it is; the time and the machine are the recording's
      db::add_recorded(run.store, *entry);
    }
    run.tried_otherwise[text(candidate.task)].push_back({candidate.config, outcome});
    return;
  }
  const db::Environment& environment = starting_points.environment(candidate.config.family());
  run.store.record({.task = candidate.task,
      .config = candidate.config,
      .device = run.evaluator.device(),
      .environment = environment,
      .outcome = outcome,
      .run = run.result.run,
      .plan_hash = plan_hash(candidate.config, candidate.task, environment.compiler_options)});
}

void record_evaluated(TuneRun& run, StartingPoints& starting_points, const Evaluated& evaluated) {
  record_outcome(run, starting_points, evaluated.candidate, evaluated.outcome);
  ++run.result.evaluated;
  if (evaluated.outcome.status != db::Status::ok) ++run.result.failed;
}

TaskTuning::TaskTuning(TuneRun& run, StartingPoints& starting_points, const Task& task, const TimeSlices::Slice& slice)
    : run_(run),
      starting_points_(starting_points),
      task_(task),
      next_(slice.next),
      after_next_(slice.after_next),
      floor_us_(floor_us(run.evaluator.device(), task)),
      start_(starting_points.of(task)),
      // What making the space took is nobody's share.
      began_(run.clock_seconds()),
      deadline_(began_ + (run.ends - began_) * slice.share),
      others_could_use_it_(slice.number == 1 && slice.others_left),
      // Every slice of every task has its own sequence: a task added before it must not change how it is
      // searched.
      strategy_(run.options.only_finalists
                    ? make_initial_only(start_.space, start_.initial_configs)
                    : make_strategy(run.options.strategy, start_.space, run.options.seed + slice.number - 1,
                          {start_.initial_configs, estimates_of(start_.space, task, run.evaluator.limits()),
                              start_.best_is_lost})),
      time_us_(start_.space.size()),
      disturbed_(start_.space.size(), 0),
      in_flight_(start_.space.size(), 0),
      tried_now_(start_.space.size(), 0),
      of_before_(start_.space.size(), 0),
      played_off_(start_.space.size(), 0) {
  progress_.task_index = slice.task;
  progress_.slice = slice.number;
  progress_.task_count = run.task_count;
  progress_.task = task;
  const auto size = std::int64_t(start_.space.size());
  const std::int64_t most = run.options.max_candidates;
  progress_.left = most > 0 ? std::min(most, size) : size;
}

TaskEnding TaskTuning::run() {
  if (start_.space.size() == 0) spdlog::warn("{}: no config of the chosen families can run it", text(task_));
  const bool only_finalists = run_.options.only_finalists;
  if (only_finalists && start_.initial_configs.empty() && start_.reused.empty())
    spdlog::warn("{}: nothing on record to play off", text(task_));
  reuse_known();
  if (only_finalists) progress_.left = std::int64_t(start_.initial_configs.size());
  report(std::nullopt);
  const TaskEnding ending = search();
  if (ending == TaskEnding::interrupted) return ending;
  final_benchmark();
  // The next slice begins with them: the evaluator has no other work now.
  announce_next(run_.clock_seconds() < run_.ends);
  return ending;
}

/// What the machine failed on in an earlier slice counts as tried in this run, and so does what a replay gave, be it of
/// former kernels.
void TaskTuning::add_what_was_tried_otherwise() {
  for (const auto& [config, outcome] : run_.tried_otherwise[text(task_)]) {
    const auto index = start_.space.index_of(config);
    const bool known =
        std::any_of(start_.reused.begin(), start_.reused.end(), [&](const auto& one) { return one.index == index; });
    if (index && !known) start_.reused.push_back({*index, outcome, false, run_.result.run});
  }
}

void TaskTuning::reuse_known() {
  add_what_was_tried_otherwise();
  for (const StartingPoint::ReusedOutcome& known : start_.reused) {
    const Score score = score_of(known.outcome);
    if (progress_.slice == 1 && known.outcome.status == db::Status::compile_failed) ++run_.result.compile_failed;
    note(known.index, known.outcome);
    played_off_[known.index] = known.repeated;
    of_before_[known.index] = known.run != run_.result.run;
    strategy_->observe(known.index, score);
    ++progress_.done;
    ++progress_.reused;
    if (!score) ++progress_.failed;
  }
  progress_.left = std::max<std::int64_t>(0, progress_.left - progress_.reused);
  if (progress_.slice == 1) run_.result.reused += progress_.reused;  // what this run itself found is known later
}

TaskEnding TaskTuning::search() {
  last_outcome_at_ = run_.clock_seconds();
  bool prepared = false;
  for (;;) {
    if (run_.stop) return TaskEnding::interrupted;
    submit_untuned();
    submit_more();
    // Once the evaluator has work, and before it has done it all.
    if (!std::exchange(prepared, true)) prepare_next();
    announce_next(false);
    if (pending_ == 0) return out_of_time_ ? TaskEnding::out_of_time : TaskEnding::done;
    take(run_.evaluator.next());
  }
}

/// Has the next task's space made, and of it and the one after it what they will probably try first, and play off:
/// where slices are short, compilers need the time of one more.
void TaskTuning::prepare_next() {
  if (next_ == nullptr) return;
  std::size_t most = run_.evaluator.most_announced();
  if (run_.options.max_candidates > 0) most = std::min(most, std::size_t(run_.options.max_candidates));
  starting_points_.prepare(*next_, most, after_next_);
}

/// Tells the evaluator of that, as far as it is there.
void TaskTuning::announce_next(bool wait) {
  try {
    while (const std::optional<StartingPoints::Announced> told = starting_points_.announced(wait)) {
      const auto& [task, initial_configs] = *told;
      const std::size_t finalists = run_.options.finalists < 2 ? 0 : std::size_t(run_.options.finalists);
      run_.evaluator.announce(task, initial_configs.to_try, known_finalists(initial_configs.known, finalists));
    }
  } catch (const db::StoreError& error) {
    spdlog::warn("{}: cannot be announced ({})", text(*next_), error.what());  // the search itself may fare better
  }
}

void TaskTuning::submit(std::size_t index) {
  in_flight_[index] = 1;
  ++pending_;
  ++submitted_;
  run_.evaluator.submit({task_, start_.space.config(index)}, incumbent_);
}

/// Submits what the library would run, whatever else there is time for; the slice goes on while it is in flight. If that
/// fails, the library would run the next of its ranking, so that comes then. This may take longer than the run, because
/// otherwise a slower config that was timed here would be chosen in its place.
void TaskTuning::submit_untuned() {
  for (const std::vector<std::size_t>& choices : start_.untuned) {
    if (choices.empty() || time_us_[choices.front()] || in_flight_[choices.front()]) continue;
    const bool in_time = run_.clock_seconds() < run_.ends || timed_ > 0;
    if (in_time && progress_.left > pending_) submit(choices.front());
  }
}

void TaskTuning::submit_more() {
  while (!strategy_->done()) {
    const std::size_t most = how_many_more();
    if (most == 0) return;
    const std::vector<std::size_t> proposals = strategy_->ask(most);
    if (proposals.empty()) return;
    for (const std::size_t index : proposals) {
      if (!in_flight_[index]) submit(index);  // else it was not this strategy's proposal alone
    }
  }
}

void TaskTuning::take(const Evaluated& evaluated) {
  const double now = run_.clock_seconds();
  const bool first = progress_.done == progress_.reused;
  (first ? run_.first_outcome_seconds : run_.candidate_seconds).add(now - last_outcome_at_);
  last_outcome_at_ = now;

  const auto index = start_.space.index_of(evaluated.candidate.config);
  if (!(evaluated.candidate.task == task_) || !index || !in_flight_[*index]) {
    throw std::logic_error(fmt::format("the evaluator answered {} for {}, which was not submitted",
        evaluated.candidate.config.text(), text(evaluated.candidate.task)));
  }
  in_flight_[*index] = 0;
  tried_now_[*index] = 1;
  --pending_;
  record_evaluated(run_, starting_points_, evaluated);
  if (evaluated.outcome.status == db::Status::compile_failed) ++run_.result.compile_failed;

  const Score score = score_of(evaluated.outcome);
  if (score) {
    ++timed_;
    run_.any_timed = true;
    run_.nothing_works = false;
  }
  note(*index, evaluated.outcome);
  strategy_->observe(*index, score);
  ++progress_.done;
  if (!score) ++progress_.failed;
  progress_.left = std::max<std::int64_t>(0, progress_.left - 1);
  report(evaluated);
  end_if_the_machine_fails(evaluated.outcome);
}

/// Before the whole space fails so. What needed no device does not say that it works.
void TaskTuning::end_if_the_machine_fails(const db::Outcome& outcome) {
  using db::Status;
  if (outcome.by_machine) {
    if (++run_.machine_failures < kMostMachineFailures) return;
    const int failures = std::exchange(run_.machine_failures, 0);
    throw EvaluatorError(fmt::format(
        "{} candidates one after the other failed by the machine's doing, the last: {}", failures, outcome.message));
  }
  const bool needed_device = outcome.status != Status::illegal && outcome.status != Status::compile_failed &&
                             outcome.status != Status::spilled;
  if (needed_device) run_.machine_failures = 0;
}

void TaskTuning::note(std::size_t index, const db::Outcome& outcome) {
  const Score time_us = score_of(outcome);
  time_us_[index] = time_us;
  disturbed_[index] = time_us && !outcome.message.empty();
  if (!time_us) {
    for (std::vector<std::size_t>& choices : start_.untuned) std::erase(choices, index);
  }
  if (time_us && !(progress_.best_us > 0 && *time_us >= progress_.best_us)) {
    set_best(index);
    best_spread_ = outcome.timing->spread;
  }
  curve_us_.push_back(progress_.best_us);
}

void TaskTuning::set_best(std::size_t index) {
  incumbent_ = Incumbent{start_.space.config(index), *time_us_[index], disturbed_[index] != 0};
  progress_.best_us = incumbent_->us;
  progress_.best_config = incumbent_->config.text();
}

void TaskTuning::report(std::optional<Evaluated> last) {
  const double now = run_.clock_seconds();
  progress_.seconds_elapsed = now - run_.started;
  progress_.seconds_left = std::isinf(run_.ends) ? 0 : std::max(0.0, run_.ends - now);
  progress_.trend = trend();
  progress_.last = std::move(last);
  if (run_.on_progress) run_.on_progress(progress_);
}

}  // namespace tilesmith::tuner
