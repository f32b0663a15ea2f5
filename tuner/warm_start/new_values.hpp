// Values of parameters that came after a problem was tuned: by a longer list of values, a rule that allows more, or a
// parameter that the recorded configs lack. A model of the records says nothing of them, and a search around the best
// finds them late, however much better they are.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "db/store/store.hpp"
#include "kernels/families/family.hpp"

namespace tilesmith::tuner {

/// The block tile of a config: what most of a kernel's behaviour on a problem follows from, energy and rounds of blocks
/// above all. Family, block_m, block_n.
using BlockTile = std::tuple<std::string, int, int>;

/// Configs of families without tiles are all of one.
inline BlockTile block_tile(const Config& config) {
  const bool has_tile = config.has("block_m") && config.has("block_n");
  return {config.family(), has_tile ? config.at("block_m") : 0, has_tile ? config.at("block_n") : 0};
}

class NewValues {
 public:
  /// Of a store with fewer entries most values have just not been tried yet: 242 of the 262 in the shipped recording
  /// are in the first thousand of their family.
  static constexpr std::int64_t kTelling = 1000;

  /// `first_tried`: of the store, which must outlive this.
  explicit NewValues(const db::FirstTried& first_tried) : first_tried_(first_tried) {}

  /// Each entry of the problem, newest first, as it was recorded.
  void saw(const db::Record& entry);
  /// The config, one of today's, with each other value that no entry of the problem has in its block tile, nor any
  /// entry of the store had when most of the problem's entries of the family were recorded. By tiles, since a value may
  /// do nothing for one and much for another. None if the store had fewer than kTelling then.
  std::vector<Config> neighbours(const Config& config, const std::vector<Parameter>& parameters) const;

 private:
  const db::FirstTried& first_tried_;
  std::set<std::tuple<BlockTile, std::string, int>> seen_;    // tile, parameter, value
  std::map<std::string, std::vector<std::int64_t>> entries_;  // by family, newest first
};

}  // namespace tilesmith::tuner
