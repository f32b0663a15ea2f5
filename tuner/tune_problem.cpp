#include "tuner/tune_problem.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "kernels/estimate.hpp"
#include "tuner/guess/finalists.hpp"
#include "tuner/peaks.hpp"
#include "tuner/what_ran.hpp"

namespace tilesmith::tuner {
namespace {

constexpr int kMostMachineFailures = 8;  // one after the other; a few are a moment's, as where compilers have no memory
constexpr int kPlayOffRounds = 6;  // lucky single times may draw new finalists in; it must end
constexpr double kMostDrift = 0.1;  // between two rounds: a winner's times further apart say nothing of the others'

/// Of the cycles that a config of the space takes; 0 for all of a family that estimates none. The space must outlive it.
std::function<double(std::size_t)> estimates_of(const SearchSpace& space, const Problem& problem,
                                                const DeviceLimits& limits) {
  return [&space, problem, target = KernelTarget{problem.type, problem.trans, limits}](std::size_t index) {
    const std::optional<Estimate> made = estimate(space.config(index), target, problem);
    return made ? made->cycles : 0;
  };
}

}  // namespace

void record_outcome(TuneRun& run, StartingPoints& starting_points, const Candidate& candidate,
                    const db::Outcome& outcome) {
  if (outcome.by_machine) {
    spdlog::warn("{} {}: {}; not recorded, a later run may try it again", text(candidate.problem), candidate.config.text(),
                 outcome.message);
    run.machine_failed_on[text(candidate.problem)].push_back({candidate.config, outcome});
    return;
  }
  db::Evidence evidence;
  evidence.problem = candidate.problem;
  evidence.config = candidate.config;
  evidence.device = run.evaluator.device();
  evidence.producer = starting_points.producer(candidate.config.family());
  evidence.outcome = outcome;
  evidence.run = run.result.run;
  evidence.origin = run.origin;
  evidence.plan_hash = what_ran(run.store, evidence, run.evaluator.limits().arch);
  run.store.record(evidence);
}

ProblemTuning::ProblemTuning(TuneRun& run, StartingPoints& starting_points, const Problem& problem,
                             const Turns::Turn& turn)
    : run_(run),
      starting_points_(starting_points),
      problem_(problem),
      next_(turn.next),
      floor_us_(floor_us(run.evaluator.device(), problem)),
      play_off_reserve_(run.play_off_seconds.value()),
      start_(starting_points.of(problem)),
      // What making the space took is nobody's share.
      began_(run.clock_seconds()),
      deadline_(began_ + (run.ends - began_) * turn.share),
      others_could_use_it_(turn.number == 1 && turn.others_left),
      // Every turn of every problem has its own sequence: a problem added before it must not change how it is searched.
      strategy_(make_strategy(run.options.strategy, start_.space, run.options.seed + turn.number - 1,
                              {start_.seeds, estimates_of(start_.space, problem, run.evaluator.limits()),
                               start_.best_is_lost})),
      time_us_(start_.space.size()),
      disturbed_(start_.space.size(), 0),
      in_flight_(start_.space.size(), 0),
      tried_now_(start_.space.size(), 0),
      played_off_(start_.space.size(), 0) {
  progress_.problem_index = turn.problem;
  progress_.turn = turn.number;
  progress_.problem_count = run.problem_count;
  progress_.problem = problem;
  const auto size = std::int64_t(start_.space.size());
  const std::int64_t most = run.options.max_candidates;
  progress_.left = most > 0 ? std::min(most, size) : size;
}

ProblemEnding ProblemTuning::run() {
  if (start_.space.size() == 0) spdlog::warn("{}: no config of the chosen families can run it", text(problem_));
  reuse_known();
  report(std::nullopt);
  const ProblemEnding ending = search();
  if (ending == ProblemEnding::interrupted) return ending;
  play_off();
  // The next turn begins with them: the evaluator has no other work now.
  pass_on_foreseen(run_.clock_seconds() < run_.ends);
  return ending;
}

/// What the machine failed on in an earlier turn counts as tried in this run.
void ProblemTuning::add_what_the_machine_failed_on() {
  for (const auto& [config, outcome] : run_.machine_failed_on[text(problem_)]) {
    const auto index = start_.space.index_of(config);
    const bool known = std::any_of(start_.known.begin(), start_.known.end(), [&](const auto& one) { return one.index == index; });
    if (index && !known) start_.known.push_back({*index, outcome});
  }
}

void ProblemTuning::reuse_known() {
  add_what_the_machine_failed_on();
  for (const StartingPoint::Known& known : start_.known) {
    const Score score = score_of(known.outcome);
    note(known.index, known.outcome);
    played_off_[known.index] = known.repeated;
    strategy_->observe(known.index, score);
    ++progress_.done;
    ++progress_.reused;
    if (!score) ++progress_.failed;
  }
  progress_.left = std::max<std::int64_t>(0, progress_.left - progress_.reused);
  if (progress_.turn == 1) run_.result.reused += progress_.reused;  // what this run itself found is known later
}

ProblemEnding ProblemTuning::search() {
  last_outcome_at_ = run_.clock_seconds();
  bool prepared = false;
  for (;;) {
    if (run_.stop) return ProblemEnding::interrupted;
    submit_more();
    // Once the evaluator has work, and before it has done it all.
    if (!std::exchange(prepared, true)) prepare_next();
    pass_on_foreseen(false);
    if (pending_ == 0) return out_of_time_ ? ProblemEnding::out_of_time : ProblemEnding::done;
    take(run_.evaluator.next());
  }
}

/// Has the next problem's space made, and what it will probably try first, and play off.
void ProblemTuning::prepare_next() {
  if (next_ == nullptr) return;
  std::size_t most = run_.evaluator.most_foreseen();
  if (run_.options.max_candidates > 0) most = std::min(most, std::size_t(run_.options.max_candidates));
  starting_points_.prepare(*next_, most);
}

/// Tells the evaluator of that, once it is there.
void ProblemTuning::pass_on_foreseen(bool wait) {
  try {
    const std::optional<Guesses> guesses = starting_points_.foreseen(wait);
    if (!guesses) return;
    const std::size_t finalists = run_.options.finalists < 2 ? 0 : std::size_t(run_.options.finalists);
    run_.evaluator.foresee(*next_, guesses->to_try, known_finalists(guesses->known, finalists));
  } catch (const db::StoreError& error) {
    spdlog::warn("{}: cannot be foreseen ({})", text(*next_), error.what());  // the search itself may fare better
  }
}

void ProblemTuning::submit_more() {
  while (!strategy_->done()) {
    const std::size_t most = how_many_more();
    if (most == 0) return;
    const std::vector<std::size_t> proposals = strategy_->ask(most);
    if (proposals.empty()) return;
    for (const std::size_t index : proposals) {
      in_flight_[index] = 1;
      ++pending_;
      ++submitted_;
      run_.evaluator.submit({problem_, start_.space.config(index)}, incumbent_);
    }
  }
}

void ProblemTuning::take(const Evaluated& evaluated) {
  const double now = run_.clock_seconds();
  const bool first = progress_.done == progress_.reused;
  (first ? run_.first_outcome_seconds : run_.candidate_seconds).add(now - last_outcome_at_);
  last_outcome_at_ = now;

  const auto index = start_.space.index_of(evaluated.candidate.config);
  if (!(evaluated.candidate.problem == problem_) || !index || !in_flight_[*index]) {
    throw std::logic_error(fmt::format("the evaluator answered {} for {}, which was not submitted",
                                       evaluated.candidate.config.text(), text(evaluated.candidate.problem)));
  }
  in_flight_[*index] = 0;
  tried_now_[*index] = 1;
  --pending_;
  record_outcome(run_, starting_points_, evaluated.candidate, evaluated.outcome);
  ++run_.result.evaluated;
  if (evaluated.outcome.status != db::Status::ok) ++run_.result.failed;

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
void ProblemTuning::end_if_the_machine_fails(const db::Outcome& outcome) {
  using db::Status;
  if (outcome.by_machine) {
    if (++run_.machine_failures < kMostMachineFailures) return;
    const int failures = std::exchange(run_.machine_failures, 0);
    throw EvaluatorError(
        fmt::format("{} candidates one after the other failed by the machine's doing, the last: {}", failures, outcome.message));
  }
  const bool needed_device = outcome.status != Status::illegal && outcome.status != Status::compile_failed &&
                             outcome.status != Status::spilled;
  if (needed_device) run_.machine_failures = 0;
}

void ProblemTuning::note(std::size_t index, const db::Outcome& outcome) {
  const Score time_us = score_of(outcome);
  time_us_[index] = time_us;
  disturbed_[index] = time_us && !outcome.message.empty();
  if (time_us && !(progress_.best_us > 0 && *time_us >= progress_.best_us)) {
    set_best(index);
    best_spread_ = outcome.timing->spread;
  }
  curve_us_.push_back(progress_.best_us);
}

void ProblemTuning::set_best(std::size_t index) {
  incumbent_ = Incumbent{start_.space.config(index), *time_us_[index], disturbed_[index] != 0};
  progress_.best_us = incumbent_->us;
  progress_.best_config = incumbent_->config.text();
}

std::function<Config(std::size_t)> ProblemTuning::config_of() const {
  return [this](std::size_t index) { return start_.space.config(index); };
}

std::vector<std::size_t> ProblemTuning::finalists() const {
  return choose_finalists(time_us_, config_of(), std::size_t(run_.options.finalists));
}

void ProblemTuning::play_off() {
  if (run_.options.finalists < 2) return;
  const double began = run_.clock_seconds();
  // With new candidates among the fastest, former play-offs do not count: only times taken together can be told apart.
  const std::vector<std::size_t> first = finalists();
  if (std::any_of(first.begin(), first.end(), [&](std::size_t index) { return tried_now_[index] != 0; }))
    std::fill(played_off_.begin(), played_off_.end(), char{0});
  if (first.size() < 2 || run_.stop || !play_off_could_change_choice(first, time_us_, played_off_, config_of())) return;
  bool played = play_off_round(first, std::nullopt);
  for (int round = 1; played && round < kPlayOffRounds && !run_.stop; ++round) {
    set_best(finalists().front());  // played-off times may be larger than the single ones before
    report(std::nullopt);
    const std::vector<std::size_t> playing = winner_and_challengers();
    if (playing.size() < 2 || !play_off_round(playing, time_us_[playing.front()])) break;
  }
  if (!played) return;
  set_best(finalists().front());
  report(std::nullopt);
  run_.play_off_seconds.add(run_.clock_seconds() - began);
}

/// The fastest of those that were played off, and the fastest that were not and are ahead of it by their single times alone. (Tiles
/// that their single times leave behind it are left to the next turn, or rounds would go on through all tiles.)
std::vector<std::size_t> ProblemTuning::winner_and_challengers() const {
  std::vector<std::size_t> challengers;
  for (const std::size_t index : in_order_of_time(time_us_, config_of())) {
    if (played_off_[index]) {
      challengers.resize(std::min(challengers.size(), std::size_t(run_.options.finalists) - 1));
      challengers.insert(challengers.begin(), index);
      return challengers;
    }
    challengers.push_back(index);
  }
  return {};
}

/// False if the play-off as such failed: nothing is then recorded, since that no finalist passed, where each did
/// before, says more of the play-off than of the finalists.
///   `winner_us`  the first finalist's time in the rounds before, if it was in one: its time then stands, and the others' are told on
///                that scale, so that what the device's state does from round to round decides nothing
bool ProblemTuning::play_off_round(const std::vector<std::size_t>& finalists, Score winner_us) {
  std::vector<Config> configs;
  for (const std::size_t index : finalists) configs.push_back(start_.space.config(index));
  std::vector<db::Outcome> outcomes = run_.evaluator.play_off(problem_, configs);
  const bool any = std::any_of(outcomes.begin(), outcomes.end(), [](const auto& o) { return score_of(o).has_value(); });
  if (outcomes.size() != finalists.size() || !any) {
    spdlog::warn("{}: the play-off failed ({}); single timings stand", text(problem_),
                 outcomes.empty() ? "no outcome" : outcomes.front().message);
    return false;
  }
  const Score again_us = score_of(outcomes.front());
  const bool comparable = winner_us && again_us && std::abs(*again_us / *winner_us - 1) <= kMostDrift;
  for (std::size_t i = comparable ? 1 : 0; i < finalists.size(); ++i) {
    if (comparable && score_of(outcomes[i])) outcomes[i].timing->median_us *= *winner_us / *again_us;
    record_outcome(run_, starting_points_, {problem_, configs[i]}, outcomes[i]);
    played_off_[finalists[i]] = 1;
    if (outcomes[i].by_machine) continue;  // what it had stands
    time_us_[finalists[i]] = score_of(outcomes[i]);
    disturbed_[finalists[i]] = time_us_[finalists[i]] && !outcomes[i].message.empty();
  }
  return true;
}

void ProblemTuning::report(std::optional<Evaluated> last) {
  const double now = run_.clock_seconds();
  progress_.seconds_elapsed = now - run_.started;
  progress_.seconds_left = std::isinf(run_.ends) ? 0 : std::max(0.0, run_.ends - now);
  progress_.trend = trend();
  progress_.last = std::move(last);
  if (run_.on_progress) run_.on_progress(progress_);
}

}  // namespace tilesmith::tuner
