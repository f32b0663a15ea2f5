// The guesses that it is given, and nothing else.
#include <utility>

#include "tuner/search/strategy.hpp"

namespace tilesmith::tuner {
namespace {

class GuessesOnly final : public Strategy {
 public:
  GuessesOnly(const SearchSpace& space, std::vector<std::size_t> guesses) : left_(std::move(guesses)) {
    std::erase_if(left_, [&](std::size_t index) { return index >= space.size(); });
  }

  std::string_view name() const override { return "guesses only"; }
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

std::unique_ptr<Strategy> make_guesses_only(const SearchSpace& space, std::vector<std::size_t> guesses) {
  return std::make_unique<GuessesOnly>(space, std::move(guesses));
}

}  // namespace tilesmith::tuner
