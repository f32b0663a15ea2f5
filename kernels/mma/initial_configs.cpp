#include "kernels/mma/mma.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/families/shared_rules.hpp"
#include "kernels/problem/sub_byte.hpp"

namespace tilesmith::mma {
namespace {

constexpr std::size_t kMost = 32;
constexpr std::size_t kMostOfTile = 4;
constexpr int kDeepStageBytes = 10 * 1024;  // up to which a tile gets 8 stages: 16×4096×4096 takes 3% less than with 6

struct Tile {
  int block_m, block_n, warp_m, warp_n;
};

constexpr Tile kTiles[] = {{256, 128, 64, 64}, {128, 256, 64, 64}, {192, 128, 64, 64}, {128, 192, 64, 64},
    {128, 128, 64, 64}, {128, 128, 64, 32}, {128, 128, 32, 32}, {160, 128, 32, 64}, {96, 128, 32, 64},
    {128, 96, 64, 32}, {96, 96, 48, 48}, {96, 192, 48, 48}, {256, 64, 64, 32}, {64, 256, 32, 64}, {128, 64, 64, 32},
    {64, 128, 32, 64}, {128, 64, 32, 32}, {64, 128, 32, 32}, {96, 64, 32, 32}, {64, 64, 32, 32}, {64, 32, 32, 16},
    {32, 64, 16, 32}, {32, 32, 16, 16}, {32, 128, 32, 32}, {16, 64, 16, 16}, {16, 128, 16, 32}, {16, 32, 16, 16},
    {64, 16, 16, 16}, {128, 16, 32, 16}, {32, 16, 16, 16}};

/// How operands are brought in.
struct Way {
  int copy_bytes, pack, pack_k_major;
};

/// Packed where their rows need it, or in copies as narrow; and turned K-major, which of words and bytes gains enough
/// to pack for.
std::vector<Way> ways_in(const Problem& problem, const KernelTarget& target, int must_pack) {
  const int element = int(size_bytes(problem.type.a));
  const auto [a, b] = operand_aligns(problem);
  const int pack = (a < 16 ? int(pack_a) : 0) | (b < 16 ? int(pack_b) : 0) | must_pack;
  if (is_sub_byte(target.type.a)) {
    const int turned = (problem.trans.a ? int(pack_a) : 0) | (problem.trans.b ? 0 : int(pack_b));
    std::vector<Way> ways{{16, pack, turned != 0 ? 1 : 0}};
    if (must_pack == 0 && pack != 0) ways.push_back({std::min(a, b), 0, 0});
    return ways;
  }
  std::vector<Way> ways{{16, pack, 0}};
  if (pack != 0) ways.push_back({std::min(a, b), 0, 0});
  const bool gated = problem.epilogue.is_gated();  // of such columns B's rows must run along K
  if (element == 8 && !gated) return ways;
  const int turnable = (problem.trans.a ? int(pack_a) : 0) | (problem.trans.b ? 0 : int(pack_b));
  for (const int more : {0, int(pack_a), int(pack_b), pack_a | pack_b}) {
    const int all = pack | more;
    if ((more & ~turnable) != 0 || (more & pack) != 0 || (all & turnable) == 0 || (more != 0 && element == 2 && !gated))
      continue;
    ways.push_back({16, all, 1});
  }
  return ways;
}

/// What is left to choose of a tile: everything else follows.
struct Choice {
  Tile tile;
  int swap, inst_k, k_bytes, slice_k, frag_buffers, min_blocks, persistent, split_k, reduction, tma;
  Way way;
};

/// Tile rows of a band, so that what runs at one time has few rows and columns of the operands to read.
int band_of(const Choice& choice, const DeviceLimits& limits) {
  const auto& [block_m, block_n, warp_m, warp_n] = choice.tile;
  if (choice.way.copy_bytes < 16 || choice.split_k > 1 || std::min(block_m, block_n) < 64) return 1;
  const int blocks = std::max(1, limits.sm_count * choice.min_blocks);
  int best = 8, fewest = std::numeric_limits<int>::max();
  for (const int group : {8, 4, 16}) {
    const int lines = group * block_m + (blocks + group - 1) / group * block_n;
    if (group * block_m > 2048 || lines >= fewest) continue;
    fewest = lines;
    best = group;
  }
  return best;
}

/// With as many stages as fit, up to what hides the memory's latency or what K has steps for.
Config make_config(const Choice& choice, const KernelTarget& target, const Problem& problem) {
  const auto& [tile, swap, inst_k, k_bytes, slice_k, frag_buffers, min_blocks, persistent, split_k, reduction, tma,
      way] = choice;
  const auto& [copy_bytes, pack, pack_k_major] = way;
  const bool large = tile.block_m * tile.block_n >= 128 * 128;
  const bool aligned_c = c_align_bytes(problem) >= 16;
  Config config(
      "mma", {{"inst_k", inst_k}, {"block_m", tile.block_m}, {"block_n", tile.block_n}, {"warp_m", tile.warp_m},
                 {"warp_n", tile.warp_n}, {"swap", swap}, {"block_k", k_bytes / int(size_bytes(target.type.a))},
                 {"stages", 2}, {"slice_k", slice_k}, {"frag_buffers", frag_buffers}, {"min_blocks", min_blocks},
                 {"group_m", band_of(choice, target.limits)}, {"persistent", persistent},
                 {"store_staged", (large || !aligned_c) && split_k == 1 && slice_k == 1 && swap == 0 ? 1 : 0},
                 {"split_k", split_k}, {"reduction", reduction}, {"copy_bytes", copy_bytes}, {"tma", tma},
                 {"pack", pack}, {"pack_k_major", pack_k_major}, {"overlap", 0},
                 {"early_launch", target.limits.features.dependent_launch ? 1 : 0}});
  if (target.limits.features.dependent_launch && has_passes(config)) config.set("overlap", 1);
  if (is_sub_byte(target.type.a)) config.set("widen", int(widening(target, true)));
  const std::int64_t steps =
      (problem.k * std::int64_t(size_bytes(target.type.a)) + k_bytes - 1) / k_bytes / split_k + 1;
  for (const int stages : {3, 4, 6, 8}) {
    Config deeper = config;
    deeper.set("stages", stages);
    const Geometry g(deeper, target);
    const bool fits = fits_shared_memory(g.smem_bytes, min_blocks, target.limits);
    if (!fits || stages > std::max<std::int64_t>(4, steps + 2) || (stages > 4 && large) ||
        (stages > 6 && g.stage_bytes > kDeepStageBytes) || (copy_bytes < 16 && stages > (skewed(config) ? 4 : 6)))
      break;
    config = deeper;
  }
  return config;
}

std::vector<int> instruction_choices(const KernelTarget& target) {
  if (target.type.a != Scalar::f64) return {slab_k(target.type, 0)};
  return target.limits.features.wide_f64 ? std::vector{8, 16} : std::vector{4};
}

std::vector<int> reductions(int split_k, bool clusters) {
  if (split_k == 1 || !clusters) return {through_workspace};
  return split_k <= 8 ? std::vector<int>{within_cluster} : std::vector<int>{within_cluster, through_workspace};
}

/// All choices for one tile.
std::vector<Choice> choices(const Tile& tile, const KernelTarget& target, const Problem& problem, int must_pack) {
  const Features& features = target.limits.features;
  const bool sparse = target.sparsity != Sparsity::dense;
  const bool swappable =
      !sparse && (target.type.a == Scalar::tf32 || target.type.a == Scalar::f32x3) && !target.trans.b;
  const std::vector<int> swaps = sparse      ? std::vector{int(target.sparsity == Sparsity::b)}
                                 : swappable ? std::vector{0, 1}
                                             : std::vector{0};
  std::vector<Choice> found;
  for (const int inst_k : instruction_choices(target)) {
    const std::vector<int> slices = sparse ? std::vector{1} : std::vector{1, 2},
                           steps = sparse ? std::vector{256, 128} : std::vector{128, 64};
    const bool fills_registers = sparse && tile.warp_m * tile.warp_n >= 64 * 64;
    const int frag_buffers =
        inst_k > slab_k(target.type, 0) || fills_registers ? 1 : 2;  // where an f64 step has a single slab
    for (const int k_bytes : steps) {
      for (const int slice_k : slices) {
        for (const int tma : {0, 1}) {
          if (tma == 1 && (!features.tma || sparse)) continue;
          for (const int persistent : {0, 1}) {
            if (persistent == 1 && tma == 0) continue;
            for (const Way& way : ways_in(problem, target, must_pack)) {
              for (const int min_blocks : {1, 2}) {
                for (const int split_k : {1, 2, 4, 8, 16, 32, 64}) {
                  for (const int reduction : reductions(split_k, features.clusters)) {
                    for (const int swap : swaps) {
                      found.push_back({tile, swap, inst_k, k_bytes, slice_k, frag_buffers, min_blocks, persistent,
                          split_k, reduction, tma, way});
                    }
                  }
                }
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
  const std::int64_t blocks = Geometry(config, target).tiles(problem) * config.at("split_k");
  if (config.at("min_blocks") > 1 && blocks <= target.limits.sm_count) return false;
  return config.at("persistent") == 0 || blocks > std::int64_t(target.limits.sm_count) * config.at("min_blocks");
}

}  // namespace

std::vector<Config> initial_configs(const KernelTarget& target, const Problem& asked) {
  const Problem split = evenly_split(asked), problem = as_multiplied(split, widening(target, true));
  const int must_pack = sub_bytes_to_pack(split, widening(target, true));
  if (!supports(target) || problem.m < 1 || problem.n < 1 || problem.k < 1 || problem.batch < 1) return {};
  const std::vector<Rule> all = rules(target);
  Ranking ranking(kMostOfTile);
  for (const Tile& tile : kTiles) {
    // Twice as many rows or columns as there are to compute: a smaller tile does the same with less.
    if ((tile.block_m > 16 && tile.block_m >= 2 * problem.m) || (tile.block_n > 16 && tile.block_n >= 2 * problem.n))
      continue;
    std::vector<Ranking::Candidate> of_tile;
    for (const Choice& choice : choices(tile, target, problem, must_pack)) {
      const Config config = make_config(choice, target, problem);
      if (fills_device(config, target, problem) && all_hold(all, config))
        of_tile.emplace_back(mma::estimate(config, target, problem).cycles, config);
    }
    ranking.add_tile(std::move(of_tile));
  }
  return std::move(ranking).shortest(kMost);
}

}  // namespace tilesmith::mma
