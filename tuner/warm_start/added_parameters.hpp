// Configs that were recorded before their family had all of today's parameters and values: how they read today, and what has hardly
// been tried of what was added since.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/config.hpp"
#include "kernels/family.hpp"
#include "tuner/warm_start/block_tile.hpp"

namespace tilesmith::tuner {

/// The config as its family, which has these parameters now, would have it: one recorded before parameters were added gets the
/// first value of each, then, for where a rule wants another, each other value of one of them. Empty if it has a parameter
/// that is no more. What is filled in was never tried: a guess at most.
std::vector<Config> as_of_today(const Config& config, const std::vector<Parameter>& parameters);

/// Whether a value of a family's parameter came after the entry of that id (ValueHistory::came_after).
using CameAfter =
    std::function<bool(const std::string& family, const std::string& parameter, int value, std::int64_t then)>;

/// The parameters that some recorded configs of a problem lack, and the values that came after most of its configs of a family were
/// recorded: which of these next to no config of a block tile has. A model of the evidence says nothing of them, and a search around
/// the best finds them late, however much better they are.
/// Counted for each tile, since a value may do nothing for one and much for another: of f16f32 NT 4096³ on an H200
/// `even` takes 1% from the time of 128×256 and 4% from that of 128×176, which so becomes the faster one.
class AddedParameters {
 public:
  /// Of so many configs of a tile with a value the search may learn enough.
  static constexpr std::size_t kEnough = 2;

  /// `came_after`, empty: of values nothing is known.
  explicit AddedParameters(CameAfter came_after = {}) : came_after_(std::move(came_after)) {}

  /// A config as it was recorded, whatever came of it, and the id of its entry.
  void saw(const Config& recorded, std::int64_t at, const std::vector<Parameter>& parameters);
  /// The config, one of today's, with each value of an added parameter, and each added value, that fewer than kEnough of its tile
  /// have and it does not. (Another tile is not the same config with another value.)
  std::vector<Config> untried(const Config& config, const std::vector<Parameter>& parameters) const;

 private:
  CameAfter came_after_;
  std::map<std::string, std::multiset<std::int64_t>> recorded_at_;  // by family
  std::set<std::string> seen_;                       // by text
  std::set<std::string> added_;                      // by family and parameter
  std::map<std::tuple<BlockTile, std::string, int>, std::size_t> configs_with_;  // by tile, parameter and value
};

}  // namespace tilesmith::tuner
