#include "tuner/search/strategy.hpp"

#include <utility>

namespace tilesmith::tuner {

// One file a strategy.
std::unique_ptr<Strategy> make_local(const SearchSpace&, std::uint64_t seed, Hints hints);
std::unique_ptr<Strategy> make_annealing(const SearchSpace&, std::uint64_t seed, Hints hints);
std::unique_ptr<Strategy> make_dual_annealing(const SearchSpace&, std::uint64_t seed, Hints hints);
std::unique_ptr<Strategy> make_forest(const SearchSpace&, std::uint64_t seed, Hints hints);
std::unique_ptr<Strategy> make_genetic(const SearchSpace&, std::uint64_t seed, Hints hints);
std::unique_ptr<Strategy> make_random(const SearchSpace&, std::uint64_t seed, Hints hints);
std::unique_ptr<Strategy> make_exhaustive(const SearchSpace&, std::uint64_t seed, Hints hints);

namespace {

struct Row {
  StrategyInfo info;
  std::unique_ptr<Strategy> (*make)(const SearchSpace&, std::uint64_t, Hints);
};

constexpr Row kTable[] = {
    {{"forest",
         "the default: what regression trees, fitted to all results so far, promise most around the best of all and "
         "the best of slices"},
        make_forest},
    {{"local", "descent from the best by single steps, with kicks and restarts out of local optima"}, make_local},
    {{"annealing", "a walk by single changes that takes worse steps too, ever more rarely; cools and reheats"},
        make_annealing},
    {{"dual_annealing", "jumps of heavy-tailed length, cooling, with a descent from every new best"},
        make_dual_annealing},
    {{"genetic", "children of the best configs: crossed within a family, mutated, made legal"}, make_genetic},
    {{"random", "every config in shuffled order"}, make_random},
    {{"exhaustive", "every config in the order of the space"}, make_exhaustive},
};

}  // namespace

std::vector<StrategyInfo> strategies() {
  std::vector<StrategyInfo> result;
  for (const Row& row : kTable) result.push_back(row.info);
  return result;
}

std::unique_ptr<Strategy> make_strategy(
    std::string_view name, const SearchSpace& space, std::uint64_t seed, Hints hints) {
  for (const Row& row : kTable) {
    if (row.info.name == name) return row.make(space, seed, std::move(hints));
  }
  return nullptr;
}

}  // namespace tilesmith::tuner
