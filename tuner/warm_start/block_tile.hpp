// The block tile of a config: what most of a kernel's behaviour on a problem follows from, energy and rounds of blocks above all.
#pragma once

#include <string>
#include <tuple>

#include "kernels/families/config.hpp"

namespace tilesmith::tuner {

/// Family, block_m, block_n.
using BlockTile = std::tuple<std::string, int, int>;

/// Configs of families without tiles are all of one.
inline BlockTile block_tile(const Config& config) {
  const bool has_tile = config.has("block_m") && config.has("block_n");
  return {config.family(), has_tile ? config.at("block_m") : 0, has_tile ? config.at("block_n") : 0};
}

}  // namespace tilesmith::tuner
