// Greedy iterated local search: descend from the best known config by first improvement; at a local optimum, kick the
// best (change several parameters at once) and descend again; every few kicks without gain, start somewhere far from
// the other starts.
//
// Several proposals are in flight at once, so that a round never waits for its last result: when the neighbourhood of
// the centre is used up, kicks go out at once. A result that is better than the best so far always becomes the centre;
// one that is merely better than the centre does so only if it was proposed in the same round.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "tuner/search/strategy_base.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kLocalSample =
    8;  // well-spread configs before the first descent; initial configs and records count
constexpr std::size_t kKicksToRestart = 5;  // every so many kicks without gain one start is from the spread sample
constexpr int kKickTries = 64;              // most kicks of a space with many rules are illegal
constexpr double kNone = std::numeric_limits<double>::infinity();

class Local final : public StrategyBase {
 public:
  Local(const SearchSpace& searched, std::uint64_t seed, Hints hints)
      : StrategyBase(searched, seed, std::move(hints)), round_of_(searched.size(), 0) {}

 protected:
  std::optional<std::size_t> propose() override {
    const bool descends = observed_count() >= std::min(kLocalSample, space().size());
    std::optional<std::size_t> next = descends ? take_unvisited(queue_) : std::nullopt;
    if (!next) next = next_start();
    if (next) round_of_[*next] = round_;
    return next;
  }

  void learn(std::size_t index, Score time_us) override {
    if (!time_us) return;
    if (*time_us < best_us_) {
      best_ = index;
      best_us_ = *time_us;
      kicks_without_gain_ = 0;
    } else if (round_of_[index] != round_ || *time_us >= centre_us_) {
      return;
    }
    centre_us_ = *time_us;
    queue_ = neighbours_to_take(index);
  }

 private:
  /// The start of another descent.
  std::optional<std::size_t> next_start() {
    if (best_us_ == kNone || observed_count() < kLocalSample) return spread_unvisited();
    if (centre_us_ != kNone) {  // else the kicks of this round are still in flight, or failed: one more joins them
      ++round_;
      centre_us_ = kNone;
    }
    if (++kicks_without_gain_ % kKicksToRestart == 0) return spread_unvisited();
    const std::optional<std::size_t> kicked = kick();
    return kicked ? kicked : random_unvisited();
  }

  /// The best config with a few parameters changed: two at first, more the longer nothing was gained.
  std::optional<std::size_t> kick() {
    const std::vector<std::size_t> radices = space().radices(best_);
    std::vector<std::size_t> tunable;
    for (std::size_t i = 0; i < radices.size(); ++i) {
      if (radices[i] > 1) tunable.push_back(i);
    }
    const std::size_t strength = std::min(tunable.size(), 2 + kicks_without_gain_ / 4);
    std::vector<SearchSpace::Change> changes(strength);
    for (int attempt = 0; attempt < kKickTries; ++attempt) {
      rng().shuffle(tunable);
      for (std::size_t i = 0; i < strength; ++i) changes[i] = {tunable[i], rng().below(radices[tunable[i]])};
      const std::optional<std::size_t> kicked = space().changed(best_, changes);
      if (kicked && !visited(*kicked)) return kicked;
    }
    return std::nullopt;
  }

  std::vector<std::uint32_t> round_of_;  // in which a config was proposed
  std::uint32_t round_ = 0;
  std::size_t best_ = 0;
  double best_us_ = kNone;
  double centre_us_ = kNone;
  std::size_t kicks_without_gain_ = 0;
  std::vector<std::size_t> queue_;
};

}  // namespace

std::unique_ptr<Strategy> make_local(const SearchSpace& space, std::uint64_t seed, Hints hints) {
  return std::make_unique<Local>(space, seed, std::move(hints));
}

}  // namespace tilesmith::tuner
