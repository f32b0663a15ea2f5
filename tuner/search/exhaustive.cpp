// Every config in the order of the space: for small spaces and for making recordings.
#include "tuner/search/strategy_base.hpp"

namespace tilesmith::tuner {
namespace {

class Exhaustive final : public StrategyBase {
 public:
  using StrategyBase::StrategyBase;
  std::string_view name() const override { return "exhaustive"; }

 protected:
  std::optional<std::size_t> propose() override {
    while (next_ < space().size() && visited(next_)) ++next_;
    if (next_ == space().size()) return std::nullopt;
    return next_;
  }

 private:
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_exhaustive(const SearchSpace& space, std::uint64_t seed, Hints hints) {
  return std::make_unique<Exhaustive>(space, seed, std::move(hints));
}

}  // namespace tilesmith::tuner
