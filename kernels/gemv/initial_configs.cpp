#include "kernels/gemv/gemv.hpp"

namespace tilesmith::gemv {
namespace {

/// A guess: where one SM is to have 40 KiB and more in flight, so that the memory's rate times its latency is covered,
/// and 4096 outputs make one wave of blocks that leaves no SM with less than its share.
struct Guess {
  int threads, lanes, rows, unroll, split_k = 1, prefetch_bytes = 0;
  bool in_cluster = false;
};

// Rows of 8 KiB that lie along K: the whole of a row, or half of it, in one round of loads.
constexpr Guess kAlong[] = {
    {256, 32, 1, 8}, {128, 32, 1, 16}, {256, 32, 2, 4}, {256, 64, 2, 8, 1, 256}, {256, 32, 4, 4}, {512, 64, 1, 8},
    {256, 32, 1, 8, 4}, {256, 32, 1, 4}, {256, 32, 1, 2},
    {256, 16, 1, 2},  // short rows, and those that end within a batch
};

// Rows that lie across the outputs, on many SMs: 4096 columns are few tiles, 8 slices of them enough blocks. A second
// launch that adds the slices took less time than a cluster that waits for its last block (docs/notes/gemv.md).
constexpr Guess kAcrossOnMany[] = {{512, 16, 1, 4, 8}, {256, 16, 1, 2, 16}, {256, 8, 1, 4, 8}, {512, 8, 1, 4, 4},
    {128, 8, 1, 8, 8}, {256, 16, 1, 8, 8, 256, true}, {512, 16, 1, 8, 4}};

// A device of few SMs has blocks enough without slices.
constexpr Guess kAcross[] = {
    {256, 8, 1, 8}, {256, 8, 1, 16}, {512, 8, 1, 8}, {256, 4, 1, 8}, {256, 16, 1, 8}, {256, 16, 1, 8, 4}};

Config make_config(const Guess& guess, int matrix, int shifted, bool can_overlap) {
  Config config("gemv", {{"matrix", matrix}, {"shifted", shifted}, {"threads", guess.threads}, {"lanes", guess.lanes},
                            {"rows", guess.rows}, {"unroll", guess.unroll}, {"split_k", guess.split_k},
                            {"cluster", guess.in_cluster ? 1 : 0}, {"prefetch_bytes", guess.prefetch_bytes},
                            {"overlap", 0}, {"early_launch", can_overlap ? 1 : 0}});
  if (can_overlap && has_second_launch(config)) config.set("overlap", 1);
  return config;
}

}  // namespace

std::vector<Config> initial_configs(const KernelTarget& target) {
  const std::vector<Rule> all = rules(target);
  const auto initial_configs = [&](bool along) -> std::span<const Guess> {
    if (along) return kAlong;
    if (target.limits.features.clusters) return kAcrossOnMany;
    return kAcross;
  };
  std::vector<Config> found;
  // The best guess for every way the matrix may lie, then the second for each, and so on.
  for (std::size_t i = 0; i < std::size(kAlong); ++i) {
    for (const int shifted : {0, 1}) {
      for (const int matrix : {1, 0}) {
        const std::span<const Guess> of = initial_configs(matrix == 1 ? target.trans.b : !target.trans.a);
        if (i >= of.size()) continue;
        Guess guess = of[i];
        Config config = make_config(guess, matrix, shifted, target.limits.features.dependent_launch);
        // Shifted rows of 8-bit elements need 16 warps.
        if (!all_hold(all, config)) config.set("threads", 512);
        if (all_hold(all, config)) found.push_back(config);
      }
    }
  }
  return found;
}

}  // namespace tilesmith::gemv
