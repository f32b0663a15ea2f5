// A steady-state genetic algorithm: the best configs so far are the population; two parents of one family, each the
// better of a few drawn, give a child that takes each parameter from either, with now and then one changed at random.
// A child that breaks a rule is repaired: it keeps those of its changes that are legal one after the other.
#include <algorithm>

#include "tuner/search/strategy_base.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kPopulation = 20;
constexpr std::size_t kTournament = 3;
constexpr int kChildTries = 50;  // late in a search most children were seen before

class Genetic final : public StrategyBase {
 public:
  using StrategyBase::StrategyBase;

 protected:
  std::optional<std::size_t> propose() override {
    if (observed_count() < kPopulation || population_.size() < 2) return random_unvisited();
    for (int attempt = 0; attempt < kChildTries; ++attempt) {
      const std::size_t child = child_of(parent(), parent());
      if (!visited(child)) return child;
    }
    return random_unvisited();
  }

  void learn(std::size_t index, Score time_us) override {
    std::erase_if(population_, [&](const Member& member) { return member.index == index; });
    if (!time_us) return;
    const auto slower = std::find_if(
        population_.begin(), population_.end(), [&](const Member& member) { return member.time_us > *time_us; });
    population_.insert(slower, {index, *time_us});
    if (population_.size() > kPopulation) population_.pop_back();
  }

 private:
  struct Member {
    std::size_t index;
    double time_us;
  };

  std::size_t parent() {
    std::size_t rank = population_.size();
    for (std::size_t i = 0; i < kTournament; ++i) rank = std::min(rank, rng().below(population_.size()));
    return population_[rank].index;
  }

  /// Parents of two families do not mix: the child is a mutant of the first.
  std::size_t child_of(std::size_t mother, std::size_t father) {
    if (space().family(mother) != space().family(father)) father = mother;
    const std::vector<std::size_t> radices = space().radices(mother);
    const std::vector<std::size_t> from_mother = space().digits(mother);
    const std::vector<std::size_t> from_father = space().digits(father);
    std::vector<SearchSpace::Change> changes;
    for (std::size_t i = 0; i < radices.size(); ++i) {
      std::size_t digit = rng().below(2) == 0 ? from_mother[i] : from_father[i];
      if (rng().below(radices.size()) == 0) digit = rng().below(radices[i]);  // one parameter a child, on average
      if (digit != from_mother[i]) changes.emplace_back(i, digit);
    }
    if (const auto child = space().changed(mother, changes)) return *child;
    std::size_t child = mother;
    rng().shuffle(changes);
    for (const SearchSpace::Change& change : changes) child = space().changed(child, {&change, 1}).value_or(child);
    return child;
  }

  std::vector<Member> population_;  // fastest first
};

}  // namespace

std::unique_ptr<Strategy> make_genetic(const SearchSpace& space, std::uint64_t seed, Hints hints) {
  return std::make_unique<Genetic>(space, seed, std::move(hints));
}

}  // namespace tilesmith::tuner
