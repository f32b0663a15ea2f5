// Search strategies: pure and seeded, ask/tell, free of CUDA, files and printing. Adding one is one file in this folder
// and one line in strategy.cpp's table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/space.hpp"

namespace tilesmith::tuner {

/// What a strategy searches: legal configs by index, and which are one step apart. Spaces of several families are
/// concatenated; neighbours stay within a family.
class SearchSpace {
 public:
  explicit SearchSpace(std::vector<Space> spaces);
  std::size_t size() const { return configs_.size(); }
  const Config& config(std::size_t index) const { return configs_[index]; }
  std::optional<std::size_t> index_of(const Config& config) const;
  /// Legal configs that differ in one parameter by one step of its value list first, then those that differ in one
  /// parameter by any step.
  std::vector<std::size_t> neighbours(std::size_t index) const;

 private:
  struct Block;
  std::vector<Config> configs_;
  std::vector<Space> spaces_;
  struct Lookup;
  std::shared_ptr<const Lookup> lookup_;
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
  /// The result of a proposal, or of a config known from elsewhere (stored evidence): both guide the search.
  virtual void observe(std::size_t index, Score time_us) = 0;
  virtual bool done() const = 0;
};

struct StrategyInfo {
  std::string_view name;
  std::string_view summary;
};
/// The strategies that make_strategy knows.
std::vector<StrategyInfo> strategies();

/// nullptr if there is no strategy of that name. `seeds` are proposed first, in order. `space` must outlive it.
std::unique_ptr<Strategy> make_strategy(std::string_view name, const SearchSpace& space, std::uint64_t seed,
                                        std::vector<std::size_t> seeds = {});

}  // namespace tilesmith::tuner
