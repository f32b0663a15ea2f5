// The final benchmark at the end of a slice: which candidates it is of, how many rounds it goes on for, and on whose
// scale its times are told.
//
// Only times that were taken together can be told apart: nights differ by some percent, and so do a device that rested
// and one under a lasting load. So whoever is fastest of those that were played before plays beside all that are new,
// its time stands, and theirs are told on its scale.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tuner/loop/tune_task.hpp"
#include "tuner/measure/timing_policy.hpp"
#include "tuner/warm_start/finalists.hpp"

namespace tilesmith::tuner {

constexpr double kMostDrift =
    0.1;  // from round to round and night to night: a winner's times further apart say nothing of the others'
constexpr double kNightsDiffer =
    0.05;  // in their times of short launches; those of long ones are on the known best's scale anyway
constexpr int kSureRounds = 6;            // whatever they take ...
constexpr double kMostOfSlice = 1.0 / 3;  // ... and more while all take no longer than so much of the slice before

std::function<Config(std::size_t)> TaskTuning::config_of() const {
  return [this](std::size_t index) { return start_.space.config(index); };
}

std::vector<std::size_t> TaskTuning::finalists() const {
  return choose_finalists(time_us_, config_of(), std::size_t(run_.options.finalists));
}

std::optional<std::size_t> TaskTuning::fastest(const std::function<bool(std::size_t)>& among) const {
  for (const std::size_t index : in_order_of_time(time_us_, config_of())) {
    if (among(index)) return index;
  }
  return std::nullopt;
}

void TaskTuning::final_benchmark() {
  const double began = run_.clock_seconds();
  const bool played = play_finalists();
  time_vendor();
  if (played) run_.final_benchmark_seconds.add(run_.clock_seconds() - began);
}

/// Whether there was any round.
bool TaskTuning::play_finalists() {
  if (run_.options.finalists < 2) return false;
  const double began = run_.clock_seconds();
  std::optional<std::size_t> known_best = fastest([&](std::size_t index) { return played_off_[index] != 0; });
  if (known_best && disturbed_[*known_best]) {  // nothing is held against its time
    known_best.reset();
    std::fill(played_off_.begin(), played_off_.end(), char{0});
  }
  const std::vector<std::size_t> first = first_to_play(known_best);
  if (first.size() < 2 || run_.stop) return false;
  if (!final_benchmark_round(first, known_best ? time_us_[*known_best] : std::nullopt)) return false;
  for (int rounds = 1;; ++rounds) {
    set_best(finalists().front());  // played-off times may be larger than the single ones before
    report(std::nullopt);
    const double now = run_.clock_seconds();
    if (run_.stop || now >= run_.ends) break;
    if (rounds >= kSureRounds && now - began > kMostOfSlice * (began - began_)) break;
    const std::vector<std::size_t> playing = winner_and_challengers();
    if (playing.size() < 2 || !final_benchmark_round(playing, time_us_[playing.front()])) break;
  }
  return true;
}

/// What the library would run, as far as it was not played yet: what wins must be faster than that.
std::vector<std::size_t> TaskTuning::untuned() const {
  std::vector<std::size_t> found;
  for (const std::vector<std::size_t>& choices : start_.untuned) {
    if (!choices.empty() && time_us_[choices.front()] && !played_off_[choices.front()])
      found.push_back(choices.front());
  }
  return found;
}

/// None if the choice would stay what it is: its time is of a final benchmark, and what is new is behind it.
///   `known_best`  the fastest that was in one; it comes first
std::vector<std::size_t> TaskTuning::first_to_play(std::optional<std::size_t> known_best) const {
  const std::vector<std::size_t> fastest_first = finalists();
  if (fastest_first.empty()) return {};
  const std::size_t front = known_best.value_or(fastest_first.front());
  // By times of two nights nobody is behind who is within what nights may differ by.
  std::vector<Score> of_other_night(time_us_.size());
  for (std::size_t i = 0; i < time_us_.size() && is_short(*time_us_[front]); ++i) {
    const bool is_one =
        time_us_[i] && !played_off_[i] && of_before_[i] != of_before_[front] && (tried_now_[i] || !known_best);
    if (is_one && *time_us_[i] <= (1 + kNightsDiffer) * *time_us_[front]) of_other_night[i] = time_us_[i];
  }
  const auto most = std::size_t(run_.options.finalists);
  const std::vector<std::size_t> near = choose_finalists(of_other_night, config_of(), known_best ? most - 1 : 1);
  const std::vector<std::size_t> must_play = untuned();
  const auto is_new = [&](std::size_t index) { return tried_now_[index] != 0; };
  const bool any_new =
      !near.empty() || std::ranges::any_of(fastest_first, is_new) || std::ranges::any_of(must_play, is_new);
  if (!any_new && !final_benchmark_could_change_choice(fastest_first, time_us_, played_off_, config_of())) return {};

  std::vector<std::size_t> playing{front};
  const auto add = [&](std::size_t index) {
    if (playing.size() < most && std::ranges::find(playing, index) == playing.end()) playing.push_back(index);
  };
  std::ranges::for_each(must_play, add);
  std::ranges::for_each(near, add);
  for (const std::size_t index : fastest_first) {
    if (!played_off_[index]) add(index);
  }
  std::ranges::for_each(fastest_first, add);
  return playing;
}

/// The fastest of those that were played off, and of those that were not the first that are ahead of it by their single
/// times alone, which would be chosen. (Tiles that their single times leave behind it are left to the next slice, or
/// rounds would go on through all tiles.)
std::vector<std::size_t> TaskTuning::winner_and_challengers() const {
  const auto winner = fastest([&](std::size_t index) { return played_off_[index] != 0; });
  if (!winner) return {};
  std::vector<std::size_t> playing{*winner};
  for (const std::size_t index : in_order_of_time(time_us_, config_of())) {
    if (index == *winner || playing.size() == std::size_t(run_.options.finalists)) break;
    if (!played_off_[index]) playing.push_back(index);
  }
  return playing;
}

/// False if the final benchmark as such failed: nothing is then recorded, since that no finalist passed, where each did
/// before, says more of the final benchmark than of the finalists.
///   `winner_us`  the first finalist's time in the rounds before, or nights before, if it was in one: its time then stands, and the others'
///                are told on that scale, so that what the device's state does from round to round decides nothing
bool TaskTuning::final_benchmark_round(const std::vector<std::size_t>& finalists, Score winner_us) {
  std::vector<Config> configs;
  for (const std::size_t index : finalists) configs.push_back(start_.space.config(index));
  std::optional<db::VendorTimes> vendor;
  std::vector<db::Outcome> outcomes = play_round(configs, vendor);
  const bool any = std::any_of(outcomes.begin(), outcomes.end(), [](const auto& o) { return score_of(o).has_value(); });
  if (outcomes.size() != finalists.size() || !any) {
    spdlog::warn("{}: the final benchmark failed ({}); single timings stand", text(task_),
        outcomes.empty() ? "no outcome" : outcomes.front().message);
    return false;
  }
  const Score again_us = score_of(outcomes.front());
  const bool comparable =
      winner_us && again_us && std::abs(final_benchmark_scale_ * *again_us / *winner_us - 1) <= kMostDrift;
  if (!comparable)
    std::fill(played_off_.begin(), played_off_.end(), char{0});  // what was played before is on another scale
  final_benchmark_scale_ = comparable ? *winner_us / *again_us : 1;
  take_vendor(std::move(vendor), comparable);
  if (comparable) beside_vendor_.insert(finalists.front());
  for (std::size_t i = comparable ? 1 : 0; i < finalists.size(); ++i) {
    const std::size_t index = finalists[i];
    if (comparable && score_of(outcomes[i])) outcomes[i].timing->median_us *= final_benchmark_scale_;
    record_outcome(run_, starting_points_, {task_, configs[i]}, outcomes[i]);
    played_off_[index] = 1;
    if (outcomes[i].by_machine) continue;  // what it had stands
    const Score played_us = score_of(outcomes[i]);
    time_us_[index] = played_us;
    disturbed_[index] = played_us && !outcomes[i].message.empty();
    if (played_us) beside_vendor_.insert(index);
    else beside_vendor_.erase(index);
  }
  return true;
}

}  // namespace tilesmith::tuner
