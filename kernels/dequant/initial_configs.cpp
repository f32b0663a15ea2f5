#include <algorithm>

#include "kernels/dequant/dequant.hpp"
#include "kernels/families/shared_rules.hpp"

namespace tilesmith::dequant {
namespace {

constexpr std::size_t kMost = 32;
constexpr std::size_t kMostOfTile = 4;

struct Tile {
  int block_n, warps_n, warps_k;
};

// Few rows of A: warps along K, which share the rows of W. Many: warps along N alone, with more strips each.
constexpr Tile kTiles[] = {{16, 1, 4}, {16, 1, 8}, {32, 1, 4}, {32, 2, 2}, {32, 2, 4}, {32, 1, 8}, {64, 1, 4},
    {64, 2, 2}, {64, 2, 4}, {64, 4, 1}, {64, 4, 2}, {64, 1, 8}, {128, 2, 2}, {128, 2, 4}, {128, 4, 1}, {128, 4, 2},
    {128, 8, 1}, {256, 4, 1}, {256, 8, 1}};

int block_m_of(std::int64_t m) {
  for (const int rows : {8, 16, 32, 64}) {
    if (m <= rows) return rows;
  }
  return 128;
}

/// With as many stages as fit, up to what K has steps for.
Config deepest(Config config, const KernelTarget& target, const Problem& problem) {
  for (const int stages : {3, 4, 6, 8}) {
    Config deeper = config;
    deeper.set("stages", stages);
    const Geometry g(deeper, target);
    if (!tensor_core::fits_shared_memory(g.smem_bytes, config.at("min_blocks"), target.limits)) break;
    if ((stages - 1) * std::int64_t(g.step_k) * config.at("split_k") > std::max<std::int64_t>(problem.k, 2 * g.step_k))
      break;
    config = deeper;
  }
  return config;
}

/// All that is worth a thought for one tile.
std::vector<Config> configs_of(const Tile& tile, int block_m, const KernelTarget& target, const Problem& problem) {
  const bool overlaps = target.limits.features.dependent_launch;
  const bool in_cluster = target.batch_mode == BatchMode::grouped || target.epilogue.is_gated();  // slices meet so
  std::vector<Config> found;
  const auto add = [&](int warp_columns, int scale_sums, int min_blocks, int split_k, int early) {
    if (in_cluster && split_k > 1 && !target.limits.features.clusters) return;
    const Config config("dequant",
        {{"block_m", block_m}, {"block_n", tile.block_n}, {"warps_n", tile.warps_n}, {"warps_k", tile.warps_k},
            {"warp_columns", warp_columns}, {"stages", 2}, {"scale_sums", scale_sums}, {"split_k", split_k},
            {"cluster", in_cluster && split_k > 1 ? 1 : 0}, {"min_blocks", min_blocks},
            {"overlap", overlaps && split_k > 1 && !in_cluster ? 1 : 0}, {"early_launch", early}, {"ahead", 0}});
    if (split_k == 1 || split_k * std::int64_t(Geometry(config, target).step_k) <= problem.k)
      found.push_back(deepest(config, target, problem));
  };
  for (const int warp_columns : {64, 128}) {
    for (const int scale_sums : {0, 1}) {
      for (const int min_blocks : {1, 2, 3, 4}) {
        for (const int split_k : {1, 2, 4, 8}) {
          add(warp_columns, scale_sums, min_blocks, split_k, 0);
          if (overlaps) add(warp_columns, scale_sums, min_blocks, split_k, 1);
        }
      }
    }
  }
  return found;
}

}  // namespace

std::vector<Config> initial_configs(const KernelTarget& target, const Problem& problem) {
  const std::vector<Rule> all = rules(target);
  const int most_m = block_m_of(evenly_split(problem).m);
  tensor_core::Ranking ranking(kMostOfTile);
  for (const Tile& tile : kTiles) {
    for (const int block_m : {most_m, most_m / 2}) {
      if (block_m < 8) continue;
      std::vector<tensor_core::Ranking::Candidate> of_tile;
      for (const Config& config : configs_of(tile, block_m, target, problem)) {
        if (all_hold(all, config)) of_tile.emplace_back(dequant::estimate(config, target, problem).cycles, config);
      }
      ranking.add_tile(std::move(of_tile));
    }
  }
  return std::move(ranking).shortest(kMost);
}

}  // namespace tilesmith::dequant
