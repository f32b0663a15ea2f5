#include "kernels/mma/seeds.hpp"

#include "kernels/mma/geometry.hpp"
#include "kernels/mma/rules.hpp"

namespace tilesmith::mma {
namespace {

/// A guess: tile of the block, tile of a warp, bytes of a K-step, and what differs from one tile a block, stored directly.
struct Guess {
  int block_m, block_n, warp_m, warp_n, k_bytes, stages;
  int frag_buffers = 2, min_blocks = 1, persistent = 0, store_staged = 0, split_k = 1;
};

// Large problems first, then ones of few tiles, then narrow ones.
constexpr Guess kGuesses[] = {
    {128, 256, 64, 64, 128, 4, 2, 1, 0, 1},    {128, 256, 64, 64, 128, 3, 2, 1, 1, 1},
    {256, 128, 64, 64, 128, 4, 2, 1, 0, 1},    {128, 128, 64, 64, 128, 3, 2, 2},
    {64, 128, 32, 32, 128, 4, 2, 1},           {128, 128, 64, 32, 128, 4, 2, 1, 0, 0, 2},
    {128, 64, 64, 32, 128, 4, 2, 2},           {64, 64, 32, 32, 128, 4, 2, 2},
    {64, 64, 32, 32, 128, 6, 2, 2, 0, 0, 4},   {16, 64, 16, 16, 128, 6, 2, 2, 0, 0, 4},
    {16, 64, 16, 32, 128, 4, 2, 1, 0, 0, 8},   {64, 16, 32, 16, 128, 6, 2, 2, 0, 0, 4},
};

Config make_config(const Guess& g, const KernelTarget& target, int copy_bytes, int pack) {
  const int element = int(size_bytes(target.type.operand));
  const bool narrow = g.block_m == 16 || g.block_n == 16;
  const int inst_k = target.type.operand == Scalar::f64 ? (target.limits.sm >= 90 ? 8 : 4) : slab_k(target.type, 0);
  const int reduction = g.split_k > 1 && target.limits.sm >= 90 ? within_cluster : through_workspace;
  return Config("mma", {{"inst_k", inst_k},
                        {"block_m", g.block_m},
                        {"block_n", g.block_n},
                        {"warp_m", g.warp_m},
                        {"warp_n", g.warp_n},
                        {"block_k", g.k_bytes / element},
                        {"stages", g.stages},
                        {"slice_k", 1},
                        {"frag_buffers", g.frag_buffers},
                        {"min_blocks", g.min_blocks},
                        {"group_m", narrow || g.split_k > 1 || copy_bytes < 16 ? 1 : 8},
                        {"persistent", g.persistent},
                        {"store_staged", copy_bytes < 16 ? 0 : g.store_staged},
                        {"split_k", g.split_k},
                        {"reduction", reduction},
                        {"copy_bytes", copy_bytes},
                        {"pack", pack}});
}

}  // namespace

std::vector<Config> seeds(const KernelTarget& target) {
  if (!supports(target)) return {};
  const std::vector<Rule> all = rules(target);
  const auto legal = [&](const Config& config) {
    for (const Rule& rule : all) {
      if (!rule.holds(config)) return false;
    }
    return true;
  };
  std::vector<Config> found;
  // Rows that need packing have configs of their own; the problem's alignment decides which may run at all.
  for (const int pack : {0, pack_a | pack_b, int(pack_a), int(pack_b)}) {
    for (const Guess& guess : kGuesses) {
      const Config config = make_config(guess, target, 16, pack);
      if (legal(config)) found.push_back(config);
    }
  }
  return found;
}

}  // namespace tilesmith::mma
