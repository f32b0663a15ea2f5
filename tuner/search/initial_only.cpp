// The initial configs that it is given, and nothing else.
#include <utility>

#include "tuner/search/strategy.hpp"

namespace tilesmith::tuner {
namespace {

class InitialOnly final : public Strategy {
 public:
  InitialOnly(const SearchSpace& space, std::vector<std::size_t> initial_configs) : left_(std::move(initial_configs)) {
    std::erase_if(left_, [&](std::size_t index) { return index >= space.size(); });
  }

  std::string_view name() const override { return "initial configs only"; }
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

std::unique_ptr<Strategy> make_initial_only(const SearchSpace& space, std::vector<std::size_t> initial_configs) {
  return std::make_unique<InitialOnly>(space, std::move(initial_configs));
}

}  // namespace tilesmith::tuner
