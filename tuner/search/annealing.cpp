// Simulated annealing (Kirkpatrick, Gelatt, Vecchi 1983) over configs that differ in one parameter: a better neighbour
// is always moved to, a slower one with probability exp(-ln(slower / here) / temperature). The temperature falls with
// each observation; when it is cold it is heated again, since the budget is not known.
//
// A neighbour whose time is known costs nothing, so the walk passes over it at once.
#include <cmath>

#include "tuner/search/strategy_base.hpp"

namespace tilesmith::tuner {
namespace {

constexpr double kHot = 0.5;       // in ln(time): a step 1.6 times slower is taken about every third time
constexpr double kCold = 0.005;    // only ties are still taken
constexpr double kCooling = 0.97;  // an observation; from hot to cold in about 150
constexpr int kFreeSteps = 200;    // over known configs before the walk counts as stuck

class Annealing final : public StrategyBase {
 public:
  using StrategyBase::StrategyBase;

 protected:
  std::optional<std::size_t> propose() override {
    for (int step = 0; step < kFreeSteps && !around_.empty(); ++step) {
      const std::size_t next = around_[rng().below(around_.size())];
      if (!visited(next)) return next;
      if (const Score time_us = score_of(next); time_us && taken(*time_us)) move_to(next, *time_us);
    }
    return random_unvisited();
  }

  void learn(std::size_t index, Score time_us) override {
    temperature_ *= kCooling;
    if (temperature_ < kCold) temperature_ = kHot;
    if (time_us && (around_.empty() || taken(*time_us))) move_to(index, *time_us);
  }

 private:
  bool taken(double time_us) {
    return time_us <= here_us_ || rng().unit() < std::exp(-std::log(time_us / here_us_) / temperature_);
  }

  void move_to(std::size_t index, double time_us) {
    here_us_ = time_us;
    around_ = space().neighbours(index);
  }

  double temperature_ = kHot;
  double here_us_ = 0;
  std::vector<std::size_t> around_;  // empty until something ran
};

}  // namespace

std::unique_ptr<Strategy> make_annealing(const SearchSpace& space, std::uint64_t seed, Hints hints) {
  return std::make_unique<Annealing>(space, seed, std::move(hints));
}

}  // namespace tilesmith::tuner
