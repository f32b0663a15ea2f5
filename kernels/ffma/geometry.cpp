#include "kernels/ffma/ffma.hpp"

#include <algorithm>

namespace tilesmith::ffma {
namespace {

constexpr int kPad = 4, kNeighbours = 8;  // as in tile.cuh and copy.cuh
constexpr int kRegisterStep = 8;          // in which a thread gets them

/// Copies of a thread and step for one operand; 0 where the block's threads do not split into whole rows (copy.cuh).
int copies_of(int width, int block_k, bool along_k, int copy_bytes, int threads) {
  if (along_k) {
    const int rows_of_block = threads / kNeighbours, rows = std::min(rows_of_block, width);
    if (width % rows != 0 || rows_of_block % rows != 0 || block_k % (kNeighbours * (rows_of_block / rows)) != 0)
      return 0;
    return width * block_k / threads;
  }
  const int chunks = width * kElementBytes / copy_bytes, share = std::min(threads, chunks);
  if (chunks % share != 0 || threads % share != 0) return 0;
  const int rows = threads / share;
  return (block_k + rows - 1) / rows * (chunks / share);
}

}  // namespace

bool a_along_k(Transposes trans) { return !trans.a; }
bool b_along_k(Transposes trans) { return trans.b; }

Geometry::Geometry(const Config& config, Transposes trans)
    : block_m(config.at("block_m")), block_n(config.at("block_n")), block_k(config.at("block_k")) {
  const int thread_m = config.at("thread_m"), thread_n = config.at("thread_n"), lanes_m = config.at("lanes_m");
  const int slice_k = config.at("slice_k"), copy_bytes = config.at("copy_bytes");
  const int warp_m = lanes_m * thread_m, warp_n = kWarpThreads / lanes_m * thread_n;
  warps_of_slice = std::max(1, block_m / warp_m * (block_n / warp_n));
  threads = warps_of_slice * slice_k * kWarpThreads;
  step_k = block_k / slice_k;
  registers = thread_m * thread_n + 2 * (thread_m + thread_n);
  const bool a_runs = a_along_k(trans), b_runs = b_along_k(trans);
  const int of_a = copies_of(block_m, block_k, a_runs, copy_bytes, threads);
  const int of_b = copies_of(block_n, block_k, b_runs, copy_bytes, threads);
  splits_copies = of_a > 0 && of_b > 0;
  copies = of_a + of_b;
  const int at_once = config.at("copies_at_once");
  copy_groups = std::max(1, std::min((copies + at_once - 1) / at_once, step_k - 1));
  stage_bytes = (block_m + (a_runs ? kPad : 0) + block_n + (b_runs ? kPad : 0)) * block_k * kElementBytes;
  smem_bytes = std::max(config.at("stages") * stage_bytes, (slice_k - 1) * block_m * block_n * kElementBytes);
}

std::int64_t Geometry::tiles(const Problem& problem) const {
  return most_tile_rows(problem, block_m) * ((problem.n - 1) / block_n + 1);
}

int registers_left(const Geometry& geometry, int min_blocks, const DeviceLimits& limits) {
  // Warps are dealt to four schedulers, each with a quarter of the registers.
  constexpr int kAllSchedulers = 4 * kWarpThreads;
  const int granted = (geometry.threads + kAllSchedulers - 1) / kAllSchedulers * kAllSchedulers;
  const int of_thread = limits.registers_per_sm / min_blocks / granted / kRegisterStep * kRegisterStep;
  return std::min(limits.registers_per_thread, of_thread) - geometry.registers;
}

}  // namespace tilesmith::ffma
