#include "kernels/ffma/ffma.hpp"

#include <algorithm>

#include "kernels/families/passes.hpp"
#include "kernels/families/shared_rules.hpp"

namespace tilesmith::ffma {
namespace {

constexpr std::size_t kMost = 32;
constexpr std::size_t kMostOfTile = 4;
constexpr int kSmallest = 32;  // rows or columns that a tile of every shape has at most

/// Tiles of blocks and threads that did best somewhere (docs/notes/ffma.md), and smaller ones for small problems.
struct Tile {
  int block_m, block_n, block_k, thread_m, thread_n, lanes_m, slice_k, min_blocks;
};

constexpr Tile kTiles[] = {{128, 256, 16, 16, 8, 4, 1, 1}, {128, 256, 16, 8, 16, 4, 1, 1},
    {256, 128, 16, 8, 16, 4, 1, 1}, {256, 128, 16, 16, 8, 4, 1, 1}, {128, 128, 16, 16, 8, 4, 1, 2},
    {128, 128, 16, 8, 16, 4, 1, 2}, {128, 128, 8, 8, 16, 4, 1, 2}, {256, 128, 16, 8, 8, 4, 1, 1},
    {128, 256, 16, 8, 8, 4, 1, 1}, {128, 128, 16, 8, 8, 4, 1, 2}, {64, 128, 32, 8, 8, 4, 2, 1},
    {64, 128, 16, 8, 8, 4, 2, 1}, {128, 64, 16, 8, 8, 4, 2, 1}, {64, 128, 32, 16, 8, 4, 4, 1},
    {128, 64, 32, 16, 8, 8, 4, 1}, {64, 128, 16, 8, 8, 4, 1, 3}, {128, 64, 16, 8, 8, 4, 1, 3},
    {64, 64, 16, 8, 8, 4, 2, 2}, {96, 128, 16, 8, 8, 4, 1, 2}, {128, 96, 16, 8, 8, 4, 1, 2},
    {64, 64, 16, 8, 8, 4, 1, 4}, {32, 64, 32, 8, 8, 4, 4, 2}, {32, 128, 32, 8, 8, 4, 4, 1}, {64, 32, 32, 8, 4, 4, 4, 2},
    {32, 64, 32, 8, 4, 4, 4, 2}, {32, 32, 32, 4, 4, 4, 4, 2}, {32, 32, 32, 4, 4, 4, 2, 4}, {16, 128, 32, 4, 8, 4, 4, 1},
    {16, 64, 32, 4, 4, 4, 4, 2}, {16, 32, 32, 4, 4, 4, 4, 4}, {64, 16, 32, 4, 4, 8, 4, 2}, {128, 16, 32, 4, 4, 8, 4, 1},
    {32, 16, 32, 4, 4, 8, 4, 4}};

/// Tile rows of a band, so that what runs at one time has few rows and columns of the operands to read.
int band_of(const Tile& tile, int split_k) { return split_k == 1 && tile.block_m >= 64 && tile.block_n >= 64 ? 8 : 1; }

/// With as many stages as fit, up to four: more hide nothing.
Config make_config(const Tile& tile, int split_k, int copy_bytes, const KernelTarget& target) {
  const bool overlaps = target.limits.features.dependent_launch;
  Config config("ffma",
      {{"block_m", tile.block_m}, {"block_n", tile.block_n}, {"block_k", tile.block_k}, {"thread_m", tile.thread_m},
          {"thread_n", tile.thread_n}, {"lanes_m", tile.lanes_m},
          {"by_columns",
              tile.thread_n > tile.thread_m ? 1 : 0},  // in lines of 8: 16 are 3 to 8% slower at 2048³ and 4096³
          {"stages", 2}, {"slice_k", tile.slice_k}, {"min_blocks", tile.min_blocks}, {"copy_bytes", copy_bytes},
          {"copies_at_once", 2}, {"group_m", band_of(tile, split_k)}, {"split_k", split_k},
          {"reduction", tensor_core::through_workspace}, {"overlap", overlaps && split_k > 1 ? 1 : 0},
          {"early_launch", overlaps ? 1 : 0}});
  for (const int stages : {3, 4}) {
    Config deeper = config;
    deeper.set("stages", stages);
    if (!tensor_core::fits_shared_memory(Geometry(deeper, target.trans).smem_bytes, tile.min_blocks, target.limits))
      break;
    config = deeper;
  }
  Config fewer = config;  // the smallest value that gives as few groups
  fewer.set("copies_at_once", 1);
  if (Geometry(fewer, target.trans).copy_groups == Geometry(config, target.trans).copy_groups) return fewer;
  return config;
}

}  // namespace

std::vector<Config> initial_configs(const KernelTarget& target, const Problem& problem) {
  if (!supports(target) || problem.m < 1 || problem.n < 1 || problem.k < 1) return {};
  const std::vector<Rule> all = rules(target);
  const auto [align_a, align_b] = tensor_core::operand_aligns(problem);
  const int copy_bytes =
      a_along_k(target.trans) && b_along_k(target.trans)
          ? 4
          : std::min({16, a_along_k(target.trans) ? 16 : align_a, b_along_k(target.trans) ? 16 : align_b});
  tensor_core::Ranking ranking(kMostOfTile);
  for (const Tile& tile : kTiles) {
    // Twice as many rows or columns as there are to compute: a smaller tile does the same with less.
    if ((tile.block_m > kSmallest && tile.block_m >= 2 * problem.m) ||
        (tile.block_n > kSmallest && tile.block_n >= 2 * problem.n))
      continue;
    std::vector<tensor_core::Ranking::Candidate> of_tile;
    for (const int split_k : {1, 2, 4, 8, 16, 32}) {
      for (int min_blocks = tile.min_blocks; min_blocks >= 1; --min_blocks) {
        Tile with_room = tile;
        with_room.min_blocks = min_blocks;
        const Config config = make_config(with_room, split_k, copy_bytes, target);
        if (!all_hold(all, config)) continue;
        of_tile.emplace_back(ffma::estimate(config, target, problem).cycles, config);
        break;
      }
    }
    ranking.add_tile(std::move(of_tile));
  }
  return std::move(ranking).shortest(kMost);
}

}  // namespace tilesmith::ffma
