// Generalised simulated annealing with local search (Tsallis, Stariolo 1996; Xiang et al. 1997; "dual annealing" in
// SciPy and Kernel Tuner). Jumps change all parameters at once by steps of heavy-tailed length, wrapping round the
// ends of the value lists, and are accepted with probability 1 / (1 + ln(slower / here) / temperature); each new best
// is descended from by its neighbours before the jumps go on.
#include <cmath>

#include "tuner/search/strategy_base.hpp"

namespace tilesmith::tuner {
namespace {

constexpr double kDualHot = 0.5;  // in ln(time), as for the length of jumps
constexpr double kDualCold = 0.01;
constexpr double kDualCooling = 0.97;  // a jump
constexpr int kJumpTries = 200;        // most jumps of a space with many rules are illegal
constexpr std::size_t kFirstSample = 8;

class DualAnnealing final : public StrategyBase {
 public:
  using StrategyBase::StrategyBase;

 protected:
  std::optional<std::size_t> propose() override {
    if (observed_count() < kFirstSample || !best_) return random_unvisited();
    if (const auto next = take_unvisited(queue_)) return next;
    temperature_ *= kDualCooling;
    if (temperature_ < kDualCold) temperature_ = kDualHot;
    for (int attempt = 0; attempt < kJumpTries; ++attempt) {
      const std::optional<std::size_t> next = jump();
      if (!next || *next == here_) continue;
      if (!visited(*next)) return next;
      if (const Score time_us = score_of(*next)) consider(*next, *time_us);
    }
    return random_unvisited();
  }

  void learn(std::size_t index, Score time_us) override {
    if (!time_us) return;
    if (!best_ || *time_us < best_us_) {
      best_ = here_ = index;
      best_us_ = here_us_ = *time_us;
      queue_ = neighbours_to_take(index);
    } else {
      consider(index, *time_us);
    }
  }

 private:
  void consider(std::size_t index, double time_us) {
    const double loss = std::log(time_us / here_us_);
    if (loss > 0 && rng().unit() * (1 + loss / temperature_) >= 1) return;
    here_ = index;
    here_us_ = time_us;
  }

  /// A step is k or longer with probability temperature / k: the tail of a Cauchy distribution.
  std::optional<std::size_t> jump() {
    const std::vector<std::size_t> radices = space().radices(here_);
    const std::vector<std::size_t> digits = space().digits(here_);
    std::vector<SearchSpace::Change> changes;
    for (std::size_t i = 0; i < radices.size(); ++i) {
      if (radices[i] < 2) continue;
      const double length = temperature_ / (1 - rng().unit());  // the divisor is in (0, 1]
      const bool up = rng().below(2) == 0;
      if (length < 1) continue;
      const std::size_t step = length < 1e9 ? std::size_t(length) % radices[i] : rng().below(radices[i]);
      changes.emplace_back(i, (digits[i] + (up ? step : radices[i] - step)) % radices[i]);
    }
    return space().changed(here_, changes);
  }

  double temperature_ = kDualHot;
  std::optional<std::size_t> best_;
  double best_us_ = 0;
  std::size_t here_ = 0;
  double here_us_ = 0;
  std::vector<std::size_t> queue_;
};

}  // namespace

std::unique_ptr<Strategy> make_dual_annealing(const SearchSpace& space, std::uint64_t seed, Hints hints) {
  return std::make_unique<DualAnnealing>(space, seed, std::move(hints));
}

}  // namespace tilesmith::tuner
