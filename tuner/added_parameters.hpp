// Configs that were recorded before their family had all of today's parameters: how they read today, and what has hardly been tried
// of what was added since.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/config.hpp"
#include "kernels/family.hpp"
#include "tuner/block_tile.hpp"

namespace tilesmith::tuner {

/// The config as its family, which has these parameters now, would have it: one recorded before parameters were added gets the
/// first value of each, then, for where a rule wants another, each other value of one of them. Empty if it has a parameter
/// that is no more. What is filled in was never tried: a guess at most.
std::vector<Config> as_of_today(const Config& config, const std::vector<Parameter>& parameters);

/// The parameters that some recorded configs of a problem lack, and which of their values next to no other one of a block tile has. A
/// model of the evidence says nothing of these, and a search around the best finds them late, however much better they are.
/// Counted for each tile, since a value may do nothing for one and much for another: of f16f32 NT 4096³ on an H200
/// `even` takes 1% from the time of 128×256 and 4% from that of 128×176, which so becomes the faster one.
class AddedParameters {
 public:
  /// Of so many configs of a tile with a value the search may learn enough.
  static constexpr std::size_t kEnough = 2;

  /// A config as it was recorded, whatever came of it.
  void saw(const Config& recorded, const std::vector<Parameter>& parameters);
  /// The config, one of today's, with each value of an added parameter that fewer than kEnough of its tile have and it does not.
  std::vector<Config> untried(const Config& config, const std::vector<Parameter>& parameters) const;

 private:
  std::set<std::string> seen_;                       // by text
  std::set<std::string> added_;                      // by family and parameter
  std::map<std::tuple<BlockTile, std::string, int>, std::size_t> configs_with_;  // by tile, parameter and value
};

}  // namespace tilesmith::tuner
