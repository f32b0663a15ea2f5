#include "kernels/wgmma/wgmma.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "kernels/families/shared_rules.hpp"
#include "kernels/problem/sub_byte.hpp"
#include "kernels/shared/finish/paired_columns.cuh"

namespace tilesmith::wgmma {
namespace {

constexpr std::size_t kMost = 32;
constexpr std::size_t kMostOfTile = 2;
constexpr int kLeastStagger = 3;

struct Tile {
  int block_m, block_n, warpgroups, schedule, swap;
};

/// Whose sums, and the part that is added to them, fit the registers.
constexpr Tile kSplitTiles[] = {{128, 128, 2, cooperative, 0}, {128, 176, 2, cooperative, 0},
    {128, 192, 2, cooperative, 0}, {128, 160, 2, cooperative, 0}, {128, 144, 2, cooperative, 0},
    {64, 176, 2, ping_pong, 0}, {64, 192, 2, ping_pong, 0}, {128, 96, 2, cooperative, 0}, {128, 128, 2, one_tile, 0},
    {128, 192, 2, one_tile, 0}, {128, 160, 2, one_tile, 0}, {128, 96, 2, one_tile, 0}, {128, 64, 2, one_tile, 0},
    {128, 32, 2, one_tile, 0}, {128, 112, 2, one_tile, 0}, {64, 128, 1, one_tile, 0}, {64, 64, 1, one_tile, 0},
    {64, 96, 1, one_tile, 0}, {64, 32, 1, one_tile, 0}, {64, 16, 1, one_tile, 0}, {64, 8, 1, one_tile, 0},
    {64, 192, 1, one_tile, 0}, {16, 128, 2, one_tile, 1}, {16, 64, 1, one_tile, 1}, {8, 64, 1, one_tile, 1},
    {32, 64, 1, one_tile, 1}, {64, 128, 2, one_tile, 1}, {128, 128, 2, one_tile, 1}, {128, 128, 2, cooperative, 1}};

constexpr Tile kTiles[] = {{128, 256, 2, cooperative, 0}, {256, 128, 2, cooperative, 0}, {128, 256, 2, one_tile, 0},
    {256, 128, 2, one_tile, 0}, {192, 192, 3, cooperative, 0}, {128, 192, 2, cooperative, 0},
    {256, 96, 2, cooperative, 0}, {128, 128, 2, ping_pong, 0}, {64, 256, 2, ping_pong, 0}, {64, 192, 2, ping_pong, 0},
    {128, 160, 2, cooperative, 0}, {128, 128, 2, cooperative, 0}, {128, 128, 2, one_tile, 0}, {128, 64, 2, one_tile, 0},
    {128, 96, 2, one_tile, 0}, {128, 192, 2, one_tile, 0}, {64, 128, 1, one_tile, 0}, {64, 64, 1, one_tile, 0},
    {64, 96, 1, one_tile, 0}, {64, 256, 1, one_tile, 0}, {64, 192, 1, one_tile, 0}, {64, 32, 1, one_tile, 0},
    {192, 128, 3, one_tile, 0}, {128, 32, 2, one_tile, 0}, {128, 72, 2, one_tile, 0}, {128, 80, 2, one_tile, 0},
    {128, 112, 2, one_tile, 0}, {64, 144, 1, one_tile, 0}, {64, 160, 1, one_tile, 0}, {64, 208, 1, one_tile, 0},
    {128, 208, 2, cooperative, 0}, {128, 176, 2, ping_pong, 0}, {128, 192, 2, ping_pong, 0}, {128, 208, 2, one_tile, 0},
    {16, 128, 2, one_tile, 1}, {16, 64, 1, one_tile, 1}, {8, 64, 1, one_tile, 1}, {8, 128, 2, one_tile, 1},
    {32, 64, 1, one_tile, 1}, {32, 128, 2, one_tile, 1}, {64, 128, 2, one_tile, 1}, {96, 128, 2, one_tile, 1},
    {128, 128, 2, one_tile, 1}, {144, 64, 1, one_tile, 1}, {112, 64, 1, one_tile, 1},
    // For few columns.
    {64, 16, 1, one_tile, 0}, {64, 8, 1, one_tile, 0}, {128, 16, 2, one_tile, 0},
    // For a B that comes from registers.
    {256, 128, 2, cooperative, 1}, {128, 256, 2, cooperative, 1}, {256, 128, 2, one_tile, 1},
    {192, 128, 2, cooperative, 1}, {128, 128, 2, cooperative, 1}, {192, 192, 3, cooperative, 1},
    {192, 128, 2, one_tile, 1},
    // For a B that lies along N.
    {176, 128, 2, ping_pong, 1}};

/// Beside these for a sparse left operand, whose products take half the time of reading the right one from shared
/// memory: square tiles.
constexpr Tile kSparseTiles[] = {{256, 192, 2, cooperative, 0}, {256, 192, 2, one_tile, 0},
    {256, 160, 2, cooperative, 0}, {256, 176, 2, cooperative, 0}};

/// Those of a sparse A; of a sparse B the same with rows and columns exchanged, where a tile may have so many rows.
std::vector<Tile> sparse_tiles(const KernelTarget& target) {
  std::vector<Tile> tiles(std::begin(kSparseTiles), std::end(kSparseTiles));
  std::ranges::copy_if(kTiles, std::back_inserter(tiles), [](const Tile& tile) { return tile.swap == 0; });
  if (target.sparsity == Sparsity::a) return tiles;
  const std::vector<Parameter> all = parameters(target);
  const auto takes = [&](const char* name, int value) {
    const auto found = std::ranges::find(all, name, &Parameter::name);
    return std::ranges::find(found->values, value) != found->values.end();
  };
  for (Tile& tile : tiles) {
    std::swap(tile.block_m, tile.block_n);
    tile.swap = 1;
  }
  std::erase_if(
      tiles, [&](const Tile& tile) { return !takes("block_m", tile.block_m) || !takes("block_n", tile.block_n); });
  return tiles;
}

/// Of weights: their rows by their sums' columns, rows of A.
constexpr Tile kWeightTiles[] = {{8, 64, 1, one_tile, 1}, {16, 64, 1, one_tile, 1}, {16, 128, 2, one_tile, 1},
    {32, 64, 1, one_tile, 1}, {32, 128, 2, one_tile, 1}, {64, 64, 1, one_tile, 1}, {64, 128, 2, one_tile, 1},
    {64, 256, 2, one_tile, 1}, {96, 64, 1, one_tile, 1}, {96, 128, 2, one_tile, 1}, {112, 128, 2, one_tile, 1},
    {128, 64, 1, one_tile, 1}, {128, 128, 2, one_tile, 1}, {128, 256, 2, one_tile, 1}, {192, 128, 2, one_tile, 1},
    {256, 128, 2, one_tile, 1}, {256, 64, 1, one_tile, 1}, {128, 128, 2, cooperative, 1}, {192, 128, 2, cooperative, 1},
    {256, 128, 2, cooperative, 1}, {128, 256, 2, cooperative, 1}, {128, 128, 2, ping_pong, 1},
    {192, 64, 2, ping_pong, 1}, {256, 64, 2, ping_pong, 1}};

/// The same beside an A of 8 bits, where parts of sums take as many registers as sums.
constexpr Tile kByteWeightTiles[] = {{8, 64, 1, one_tile, 1}, {8, 128, 2, one_tile, 1}, {16, 64, 1, one_tile, 1},
    {16, 128, 2, one_tile, 1}, {32, 64, 1, one_tile, 1}, {32, 128, 2, one_tile, 1}, {64, 64, 1, one_tile, 1},
    {64, 128, 2, one_tile, 1}, {96, 128, 2, one_tile, 1}, {128, 64, 1, one_tile, 1}, {128, 128, 2, one_tile, 1},
    {128, 128, 2, cooperative, 1}, {160, 64, 1, one_tile, 1}, {176, 128, 2, one_tile, 1}, {176, 128, 2, cooperative, 1},
    {192, 128, 2, cooperative, 1}, {192, 128, 2, one_tile, 1}};

std::span<const Tile> weight_tiles(const KernelTarget& target) {
  return size_bytes(target.type.a) == 1 ? std::span<const Tile>(kByteWeightTiles) : std::span<const Tile>(kWeightTiles);
}

/// Operands that must be packed: those that the instruction cannot take, and those whose rows TMA cannot.
int needed_pack(const KernelTarget& target, const Problem& problem, bool swap) {
  if (problem.batch_mode == BatchMode::pointers) return pack_a | pack_b;
  const auto [a, b] = operand_aligns(problem);
  const bool pairs = problem.epilogue.is_gated() && (!problem.trans.b || problem.n % kPairedStep != 0);
  return must_pack(target.type, problem.trans, swap) | (pairs ? int(pack_b) : 0) | (a < 16 ? int(pack_a) : 0) |
         (b < 16 ? int(pack_b) : 0);
}

/// With as many stages as fit, up to what hides the memory's latency or what K has steps for.
Config deepest(Config config, const KernelTarget& target, const Problem& problem) {
  const std::int64_t steps = (problem.k + config.at("block_k") - 1) / config.at("block_k") / config.at("split_k") + 1;
  for (const int stages : {3, 4, 5, 6, 8, 12}) {
    Config deeper = config;
    deeper.set("stages", stages);
    const Geometry g(deeper, target.type, target.signature());
    if (!fits_shared_memory(g.smem_bytes, g.min_blocks, target.limits) || stages > std::max<std::int64_t>(4, steps) ||
        (stages > 4 && g.stage_bytes * (stages - 1) > 192 * 1024))
      break;
    config = deeper;
  }
  return config;
}

/// The further two groups go apart, the more of what they store is hidden.
int stagger_of(int stages) { return stages >= 6 ? 6 : stages >= 4 ? 4 : kLeastStagger; }

/// All that is worth a thought for one tile.
std::vector<Config> configs_of(const Tile& tile, const KernelTarget& target, const Problem& problem, int must_pack) {
  const int panel = panel_elements(target.type);
  std::vector<Config> found;
  // The accelerator stores whole tiles, where C's rows let it.
  const bool by_boxes = takes_boxes(problem) && problem.batch_mode != BatchMode::pointers;
  for (const int panels : {1, 2, 4}) {
    for (const int cluster : {1, 2, 4, 8}) {
      if (cluster > 2 && tile.schedule != one_tile) continue;  // persistent ones leave SMs idle
      // Blocks of a cluster share the larger operand.
      const bool weighted = has_weights(target);  // a block copies its own
      const int cluster_m = tile.block_n >= tile.block_m && !weighted ? cluster : 1, cluster_n = cluster / cluster_m;
      for (const int min_blocks : {1, 2}) {
        for (const int split_k : {1, 2, 4, 8, 16, 32}) {
          for (const int reduction : {int(through_workspace), int(within_cluster)}) {
            if (cluster > 1 && split_k > 1 && reduction == within_cluster) continue;
            const bool plain = split_k > 1 || std::min(tile.block_m, tile.block_n) < 64;
            const bool summed = split_k > 1 && reduction == within_cluster;
            Config config(
                "wgmma", {{"block_m", tile.block_m}, {"block_n", tile.block_n}, {"block_k", panels * panel},
                             {"stages", 2}, {"warpgroups", tile.warpgroups}, {"schedule", tile.schedule}, {"even", 0},
                             {"stagger", 0}, {"cluster_m", cluster_m}, {"cluster_n", cluster_n},
                             {"min_blocks", min_blocks}, {"group_m", plain ? 1 : 8}, {"store_staged", 0},
                             {"store_tma", 0}, {"swap", tile.swap}, {"split_k", split_k}, {"reduction", reduction},
                             {"pack", needed_pack(target, problem, tile.swap == 1) | must_pack}, {"early_launch", 1}});
            if (target.type.a == Scalar::f32x3) config.set("promote", panels == 1 ? 2 : 1);
            if (is_sub_byte(target.type.a)) config.set("widen", int(widening(target, false)));
            for (const int store_tma : {0, 1}) {
              if (store_tma == 1 && (!by_boxes || split_k > 1)) continue;
              config.set("store_tma", store_tma);
              config.set("store_staged", store_tma == 1 || (tile.swap == 0 && !summed) ? 1 : 0);
              for (const bool staggered : {false, true}) {
                if (staggered && target.type.a == Scalar::f32x3) continue;
                config.set("stagger", staggered ? kLeastStagger : 0);
                Config deeper = deepest(config, target, problem);
                if (staggered) deeper.set("stagger", stagger_of(deeper.at("stages")));
                if (deeper.at("stages") > 2) found.push_back(deeper);  // two do not cover the memory's latency
              }
            }
          }
        }
      }
    }
  }
  return found;
}

/// Whether there are so many blocks that several on an SM, or one that does several tiles, are a choice.
bool fills_device(const Config& config, const KernelTarget& target, const Problem& problem) {
  const Geometry g(config, target.type, target.signature());
  const std::int64_t blocks = g.items(problem) * g.sharing_blocks() * config.at("split_k");
  if (g.min_blocks > 1 && blocks <= target.limits.sm_count) return false;
  return config.at("schedule") == one_tile || blocks > target.limits.sm_count;
}

}  // namespace

std::vector<Config> initial_configs(const KernelTarget& target, const Problem& asked) {
  const Problem whole = evenly_split(asked), problem = as_multiplied(whole, widening(target, false));
  const int must_pack = sub_bytes_to_pack(whole, widening(target, false));
  if (!supports(target) || problem.m < 1 || problem.n < 1 || problem.k < 1 || problem.batch < 1) return {};
  const std::vector<Rule> all = rules(target);
  Ranking ranking(kMostOfTile);
  const bool is_split = target.type.a == Scalar::f32x3;
  const std::vector<Tile> sparse = target.sparsity == Sparsity::dense ? std::vector<Tile>() : sparse_tiles(target);
  const std::span<const Tile> tiles = !sparse.empty()       ? std::span<const Tile>(sparse)
                                      : has_weights(target) ? weight_tiles(target)
                                      : is_split            ? std::span<const Tile>(kSplitTiles)
                                                            : std::span<const Tile>(kTiles);
  for (const Tile& tile : tiles) {
    // Twice as many rows or columns as there are to compute: a smaller tile does the same with less.
    const int least_m = tile.swap == 1 ? 8 : 64, least_n = tile.swap == 1 ? 64 : 32;
    if ((tile.block_m > least_m && tile.block_m >= 2 * problem.m) ||
        (tile.block_n > least_n && tile.block_n >= 2 * problem.n))
      continue;
    if (tile.swap == 0 && tile.block_n < 32 && tile.block_n < problem.n) continue;  // dominated
    std::vector<Ranking::Candidate> of_tile;
    for (const Config& config : configs_of(tile, target, problem, must_pack)) {
      if (!fills_device(config, target, problem) || !all_hold(all, config)) continue;
      const double cycles = wgmma::estimate(config, target, problem).cycles;
      of_tile.emplace_back(cycles, config);
      if (tile.schedule == one_tile || is_split || target.batch_mode != BatchMode::single)
        continue;  // it deals out one C
      Config even = config;
      even.set("even", 1);
      if (!all_hold(all, even)) continue;
      // Where the last round has no room, or the same blocks get all wide tiles, it would only take another guess's
      // place.
      if (const double its = wgmma::estimate(even, target, problem).cycles; its < cycles)
        of_tile.emplace_back(its, std::move(even));
    }
    ranking.add_tile(std::move(of_tile));
  }
  return std::move(ranking).shortest(kMost);
}

}  // namespace tilesmith::wgmma
