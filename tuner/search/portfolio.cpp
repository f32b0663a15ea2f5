// The default: a well-spread first sample, then forest and local in turns. They share one budget and both see every
// result: the forest finds the region, the local search descends from whatever is best, and where one is misled the
// other goes on. Now and then a config of the well-spread sample keeps every family in view.
#include "tuner/search/strategy_base.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kPortfolioSample = 10;  // initial configs and records count
constexpr std::size_t kSpreadEvery = 20;      // proposals, on average

class Portfolio final : public StrategyBase {
 public:
  Portfolio(const SearchSpace& searched, std::uint64_t seed, Hints hints)
      : StrategyBase(searched, seed, std::move(hints)) {
    for (const char* name : {"forest", "local"}) {
      members_.push_back(
          make_strategy(name, searched, rng().below(std::size_t{1} << 32), {{}, this->hints().estimate}));
    }
  }

 protected:
  std::optional<std::size_t> propose() override {
    if (observed_count() < kPortfolioSample || rng().below(kSpreadEvery) == 0) return spread_unvisited();
    const std::optional<std::size_t> next = proposal_of(*members_[rng().below(members_.size())]);
    return next ? next : random_unvisited();
  }

  void learn(std::size_t index, Score time_us) override {
    for (const auto& member : members_) member->observe(index, time_us);
  }

 private:
  /// Passes over what is in flight for another: the member learns its result all the same.
  std::optional<std::size_t> proposal_of(Strategy& member) {
    while (!member.done()) {
      const std::vector<std::size_t> next = member.ask(1);
      if (next.empty()) break;
      if (!visited(next[0])) return next[0];
    }
    return std::nullopt;
  }

  std::vector<std::unique_ptr<Strategy>> members_;
};

}  // namespace

std::unique_ptr<Strategy> make_portfolio(const SearchSpace& space, std::uint64_t seed, Hints hints) {
  return std::make_unique<Portfolio>(space, seed, std::move(hints));
}

}  // namespace tilesmith::tuner
