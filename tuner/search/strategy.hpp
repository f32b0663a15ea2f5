// Search strategies: pure and seeded, ask/tell, free of CUDA, files and printing. Adding one is one file in this
// folder, and its declaration and row in strategy.cpp's table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/space.hpp"

namespace tilesmith::tuner {

/// What a strategy searches: legal configs by index, and which are one step apart. Spaces of several families are
/// concatenated; neighbours stay within a family.
///
/// Every config has a code, the mixed-radix number of the positions of its values in their parameters' lists, so that a
/// neighbour is found by adding a multiple of one radix and looking the sum up: O(log size), whatever the space.
class SearchSpace {
 public:
  /// Throws std::invalid_argument if a config lacks a parameter of its space or has a value that is not listed.
  explicit SearchSpace(std::vector<Space> spaces);
  std::size_t size() const { return configs_.size(); }
  const Config& config(std::size_t index) const { return configs_[index]; }
  std::optional<std::size_t> index_of(const Config& config) const;
  /// Legal configs that differ in one parameter by one step of its value list first, then those that differ in one
  /// parameter by any step.
  std::vector<std::size_t> neighbours(std::size_t index) const;

  struct Neighbourhood {
    std::vector<std::size_t> adjacent;  ///< one parameter, one step of its value list
    std::vector<std::size_t> farther;   ///< one parameter, more than one step
  };
  Neighbourhood neighbourhood(std::size_t index) const;

  std::size_t family_count() const { return blocks_.size(); }
  /// Which of the families, in the order they were given.
  std::size_t family(std::size_t index) const;
  /// The indices of a family's configs: from first up to, but not, second.
  std::pair<std::size_t, std::size_t> family_range(std::size_t family) const {
    return {blocks_[family].begin, blocks_[family].end};
  }
  /// The positions of the config's values in its parameters' lists.
  std::vector<std::size_t> digits(std::size_t index) const;
  /// How far two configs of one family are apart: the sum over parameters of the steps between their values, each as a
  /// fraction of its list. Infinite for configs of two families.
  double distance(std::size_t a, std::size_t b) const;
  /// How many values each parameter of the config's family has.
  std::vector<std::size_t> radices(std::size_t index) const;
  /// The config with these parameters (by position) set to these values (by position); nullopt if it is not legal.
  using Change = std::pair<std::size_t, std::size_t>;
  std::optional<std::size_t> changed(std::size_t index, std::span<const Change> changes) const;

 private:
  struct Block {
    std::string family;
    std::vector<Parameter> parameters;
    std::vector<std::uint64_t> strides;                         // of each parameter in the code
    std::size_t begin = 0, end = 0;                             // indices of its configs
    std::vector<std::pair<std::uint64_t, std::size_t>> sorted;  // code → index
  };
  static std::optional<std::uint64_t> code_of(const Block& block, const Config& config);
  static std::optional<std::size_t> find(const Block& block, std::uint64_t code);
  static std::size_t digit(const Block& block, std::uint64_t code, std::size_t parameter);
  const Block& block_of(std::size_t index) const;

  std::vector<Config> configs_;
  std::vector<std::uint64_t> codes_;
  std::vector<Block> blocks_;
};

/// What a strategy learns of a proposal: its time, or nothing if the candidate failed.
using Score = std::optional<double>;

class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual std::string_view name() const = 0;
  /// Up to `most` new proposals, never one that was proposed or observed before. May return fewer; none while done() is
  /// false means: observe what is in flight first.
  virtual std::vector<std::size_t> ask(std::size_t most) = 0;
  /// The result of a proposal, or of a config known from elsewhere (stored evidence): both guide the search. A score
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
inline constexpr std::string_view kDefaultStrategy = "portfolio";

/// What a search may go by beside its own results.
struct Hints {
  /// Guesses, proposed in order, those that repeat or lie outside the space left out: alone until ten configs have a time, no
  /// more than 22 of them with those, known ones counted unless best_is_lost; then one in three proposals. So many guesses, of
  /// which the first were good, do not keep a short search from what lies around the best (docs/notes/search.md).
  std::vector<std::size_t> seeds = {};
  /// Of a config's time, in one unit for all of a family, 0 or less if there is none: a descent takes the most promising
  /// neighbours first (else single steps, in a random order), and `forest` learns how far it can be trusted. May be empty. Must
  /// give the same answer each time, and outlive the strategy with all it uses.
  std::function<double(std::size_t index)> estimate = {};
  /// What was fastest is no longer known, as after a change of its family's template: what is known of slower families then counts
  /// towards neither the ten nor the 22, or a search would go by it, away from the guesses.
  bool best_is_lost = false;
};

/// nullptr if there is no strategy of that name. `space` must outlive it.
std::unique_ptr<Strategy> make_strategy(std::string_view name, const SearchSpace& space, std::uint64_t seed,
                                        Hints hints = {});

}  // namespace tilesmith::tuner
