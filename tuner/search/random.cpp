// Uniform sampling without repetition: the baseline that any cleverer strategy must beat.
#include "tuner/search/strategy_base.hpp"

namespace tilesmith::tuner {
namespace {

class Random final : public StrategyBase {
 public:
  using StrategyBase::StrategyBase;
  std::string_view name() const override { return "random"; }

 protected:
  std::optional<std::size_t> propose() override { return random_unvisited(); }
};

}  // namespace

std::unique_ptr<Strategy> make_random(const SearchSpace& space, std::uint64_t seed, Hints hints) {
  return std::make_unique<Random>(space, seed, std::move(hints));
}

}  // namespace tilesmith::tuner
