// Strategies that go by no result.
#include <utility>

#include "tuner/search/strategy_base.hpp"

namespace tilesmith::tuner {
namespace {

/// Uniform sampling without repetition: what any cleverer strategy must beat.
class Random final : public StrategyBase {
 public:
  using StrategyBase::StrategyBase;

 protected:
  std::optional<std::size_t> propose() override { return random_unvisited(); }
};

/// Every config in the order of the space: for small spaces and for making recordings.
class Exhaustive final : public StrategyBase {
 public:
  using StrategyBase::StrategyBase;

 protected:
  std::optional<std::size_t> propose() override {
    while (next_ < space().size() && visited(next_)) ++next_;
    return next_ < space().size() ? std::optional(next_) : std::nullopt;
  }

 private:
  std::size_t next_ = 0;
};

class InitialOnly final : public Strategy {
 public:
  InitialOnly(const SearchSpace& space, std::vector<std::size_t> initial_configs) : left_(std::move(initial_configs)) {
    std::erase_if(left_, [&](std::size_t index) { return index >= space.size(); });
  }

  std::vector<std::size_t> ask(std::size_t most) override {
    std::vector<std::size_t> proposals;
    while (!left_.empty() && proposals.size() < most) {
      proposals.push_back(left_.front());
      std::erase(left_, proposals.back());
    }
    return proposals;
  }
  void observe(std::size_t index, Score) override { std::erase(left_, index); }
  bool done() const override { return left_.empty(); }

 private:
  std::vector<std::size_t> left_;
};

}  // namespace

std::unique_ptr<Strategy> make_random(const SearchSpace& space, std::uint64_t seed, Hints hints) {
  return std::make_unique<Random>(space, seed, std::move(hints));
}

std::unique_ptr<Strategy> make_exhaustive(const SearchSpace& space, std::uint64_t seed, Hints hints) {
  return std::make_unique<Exhaustive>(space, seed, std::move(hints));
}

std::unique_ptr<Strategy> make_initial_only(const SearchSpace& space, std::vector<std::size_t> initial_configs) {
  return std::make_unique<InitialOnly>(space, std::move(initial_configs));
}

}  // namespace tilesmith::tuner
