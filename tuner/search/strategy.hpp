// Search strategies: pure and seeded, ask/tell, free of CUDA, files and printing. Adding one is one file in this
// folder, and its declaration and row in strategy.cpp's table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "tuner/search/search_space.hpp"

namespace tilesmith::tuner {

/// What a strategy learns of a proposal: its time, or nothing if the candidate failed.
using Score = std::optional<double>;

class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Up to `most` new proposals, never one that was proposed or observed before. May return fewer; none while done() is
  /// false means: observe what is in flight first.
  virtual std::vector<std::size_t> ask(std::size_t most) = 0;
  /// The result of a proposal, or of a config known from elsewhere (stored records): both guide the search. A score
  /// that is not a positive number counts as failed.
  virtual void observe(std::size_t index, Score time_us) = 0;
  /// Nothing is left to propose; proposals may still be in flight.
  virtual bool done() const = 0;
};

struct StrategyInfo {
  std::string_view name;
  std::string_view summary;
};
/// The strategies that make_strategy knows.
std::vector<StrategyInfo> strategies();

/// What is searched by where nothing else is asked for.
inline constexpr std::string_view kDefaultStrategy = "forest";

/// What a search may go by beside its own results.
struct Hints {
  /// InitialConfigs, proposed in order, those that repeat or lie outside the space left out: alone until ten configs
  /// have a time, no more than 22 of them with those, known ones counted unless best_is_lost; then one in three
  /// proposals. So many initial configs, of which the first were good, do not keep a short search from what lies around
  /// the best (docs/notes/search.md).
  std::vector<std::size_t> initial_configs = {};
  /// Of a config's time, in one unit for all of a family, 0 or less if there is none: a descent takes the most
  /// promising neighbours first (else single steps, in a random order), and `forest` learns how far it can be trusted.
  /// May be empty. Must give the same answer each time, and outlive the strategy with all it uses.
  std::function<double(std::size_t index)> estimate = {};
  /// What was fastest is no longer known, as after a change of its family's template: what is known of slower families
  /// then counts towards neither the ten nor the 22, or a search would go by it, away from the initial configs.
  bool best_is_lost = false;
};

/// Proposes these in order, less those out of the space or known, and nothing else. No strategy to choose: it does not
/// search.
std::unique_ptr<Strategy> make_initial_only(const SearchSpace& space, std::vector<std::size_t> initial_configs);

/// nullptr if there is no strategy of that name. `space` must outlive it.
std::unique_ptr<Strategy> make_strategy(
    std::string_view name, const SearchSpace& space, std::uint64_t seed, Hints hints = {});

}  // namespace tilesmith::tuner
