// How long a slice goes on: how many candidates its time is expected to suffice for, and when it gives up what is left
// of it.
#include <algorithm>
#include <cmath>

#include "tuner/loop/tune_task.hpp"
#include "tuner/measure/timing_policy.hpp"

namespace tilesmith::tuner {
namespace {

constexpr double kPatience = 2.0 / 3;  // of its time a task has in any case
constexpr double kWorthwhile = 2;      // times what a slice's first compilations and its final benchmark take
constexpr double kProofLaunches = 8;   // of a candidate, what warms it up included
constexpr double kMostReserved =
    0.25;  // of a slice, for a run's first final benchmark: finalists are taken to last as long as candidates

/// What it takes to prove a candidate and to time it beside a control, where such launches are all that takes time.
double evaluation_us(double launch_us) {
  const TimingPolicy policy;
  return kProofLaunches * launch_us + std::min(2 * policy.min_samples * launch_us, policy.max_total_us);
}

}  // namespace

double TuneRun::least_slice_seconds() const {
  return kWorthwhile * (first_outcome_seconds.value() + final_benchmark_seconds.value()) +
         double(kLeastEvaluations) * candidate_seconds.value();
}

/// What a candidate is expected to take: what those of the run took lately, or more, if launches of this task are
/// longer than theirs.
double TaskTuning::seconds_each() const {
  return std::max(run_.candidate_seconds.value(), 1e-6 * evaluation_us(std::max(progress_.best_us, floor_us_)));
}

/// What is kept of the slice for its final benchmark: what those of the run took lately, and before the first of them a
/// guess.
double TaskTuning::final_benchmark_reserve() const {
  if (run_.options.finalists < 2 || std::isinf(deadline_)) return 0;
  if (run_.final_benchmark_seconds.value() > 0) return run_.final_benchmark_seconds.value();
  return std::min(run_.options.finalists * run_.candidate_seconds.value(), kMostReserved * (deadline_ - began_));
}

/// How many candidates to submit now: as many as the evaluator likes to have in flight, the limit allows, and the time
/// left is expected to suffice for.
std::size_t TaskTuning::how_many_more() {
  const std::size_t width = std::max<std::size_t>(1, run_.evaluator.width());
  const std::size_t in_flight = run_.evaluator.in_flight();
  if (in_flight >= width) return 0;
  const std::int64_t under_limit = progress_.left - pending_;
  if (under_limit <= 0) return 0;
  std::size_t most = std::min(width - in_flight, std::size_t(under_limit));
  if (std::isinf(deadline_)) return most;

  const double now = run_.clock_seconds();
  if (!progress_.gave_up_time && gives_up_time(now)) {
    progress_.gave_up_time = out_of_time_ = true;
    spare_seconds_ = deadline_ - final_benchmark_reserve() - now;
  }
  if (progress_.gave_up_time) return 0;
  const bool none_came = progress_.done == progress_.reused;
  const double left =
      deadline_ - final_benchmark_reserve() - now - (none_came ? run_.first_outcome_seconds.value() : 0);
  const double cost = seconds_each();
  double affordable = double(most);
  if (left <= 0) affordable = 0;
  else if (cost > 0) affordable = std::floor(left / cost) + (none_came ? 1 : 0) - double(pending_);
  // The first outcome is waited for in any case: as many as take half as long come with it.
  if (none_came && cost > 0 && now < run_.ends)
    affordable = std::max(affordable, std::floor(run_.first_outcome_seconds.value() / 2 / cost) + 1 - double(pending_));
  // A share too small for anything still gets one candidate while the budget lasts: a task is better tried than not.
  if (affordable < 1 && submitted_ == 0 && progress_.done == 0 && now < run_.ends) affordable = 1;
  if (affordable < 1) {
    out_of_time_ = true;
    return 0;
  }
  return std::min(most, std::size_t(affordable));
}

/// Whether it has settled, after a fair trial, and enough of its time is left to be of use elsewhere.
bool TaskTuning::gives_up_time(double now) const {
  if (!others_could_use_it_ || progress_.done - progress_.reused < std::int64_t(kLeastEvaluations)) return false;
  if (!trend().settled() || deadline_ - final_benchmark_reserve() - now < run_.least_slice_seconds()) return false;
  const double before = double(progress_.reused) * seconds_each();
  return before + now - began_ >= kPatience * (before + deadline_ - began_);
}

/// Of single timings: the final benchmark's times would make a best of the second half look slower or faster than it
/// was. A further slice that brought nothing speaks for itself, whatever the slice before it brought.
Trend TaskTuning::trend() const {
  Trend trend = trend_of(curve_us_, curve_us_.empty() ? 0 : curve_us_.back(), best_spread_, floor_us_);
  const std::size_t before = std::size_t(progress_.reused);
  if (progress_.slice > 1 && before > 0 && curve_us_[before - 1] > 0 &&
      !(std::log(curve_us_[before - 1] / curve_us_.back()) > best_spread_))
    trend.last_doubling = 0;
  return trend;
}

SliceBoard::Rest TaskTuning::rest() const {
  const std::int64_t tried = progress_.done - progress_.reused;
  const double each = tried > 0 ? (last_outcome_at_ - began_) / double(tried) : seconds_each();
  return {trend(), each, spare_seconds_};
}

}  // namespace tilesmith::tuner
