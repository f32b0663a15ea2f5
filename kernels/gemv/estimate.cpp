#include "kernels/gemv/gemv.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/families/passes.hpp"

namespace tilesmith::gemv {
namespace {

constexpr double kClusterSync =
    2500;  // until a cluster's last block is there: it waits for room for all (docs/notes/gemv.md)
constexpr double kBlockStart = 1000;  // from a block's start until its first loads come, and its sums are stored
constexpr double kMemoryLatency = 1400;
constexpr double kShiftedLoads = 1.15;  // chunks that are put together from two
constexpr double kElementCycles =
    0.75;  // of a warp's 16-byte load and its products, for each element; on one of four schedulers
constexpr double kPartCycles =
    8;  // the same in a batch that K ends within: u8s32 1×4096×4096 with batches of 512 chunks

}  // namespace

Estimate estimate(const Config& config, const KernelTarget& target, const Problem& problem) {
  Estimate made;
  const Geometry g(config, target.type, target.trans);
  const bool matrix_is_b = config.at("matrix") == 1;
  const int threads = config.at("threads"), split_k = config.at("split_k");
  const double element = double(size_bytes(target.type.a));
  const double outputs = double(matrix_is_b ? problem.n : problem.m), k = double(problem.k);
  const double sms = std::max(1, target.limits.sm_count);

  made.sms = sms;
  made.blocks = std::ceil(outputs / g.outputs) * split_k * double(problem.batch);
  made.room_by_threads = std::min(target.limits.threads_per_sm / threads, target.limits.blocks_per_sm);
  made.room_by_shared_memory = std::max(1, target.limits.smem_per_sm_bytes / std::max(1, g.smem_bytes));
  made.resident =
      std::min({double(made.room_by_threads), double(made.room_by_shared_memory), std::ceil(made.blocks / sms)});
  made.waves = made.blocks / (sms * made.resident);

  // Padding of the last block is loaded by nobody, but its threads idle.
  const double bytes_of_block =
      double(g.outputs) * std::ceil(k / split_k) * element * (config.at("shifted") == 1 ? kShiftedLoads : 1);
  const double blocks_of_sm = std::ceil(made.blocks / sms);
  const double rows = g.along ? config.at("rows") : 1;
  const double round_bytes = double(threads) * config.at("unroll") * rows * kChunkBytes;
  const double in_flight = made.resident * std::min(round_bytes, bytes_of_block);
  const double busiest = blocks_of_sm * bytes_of_block;
  const double matrices = tensor_core::matrices_of(problem, matrix_is_b ? OperandRole::b : OperandRole::a);
  made.dram = matrices * outputs * k * element / (target.limits.rates.dram_bytes * sms);
  made.latency = std::ceil(blocks_of_sm / made.resident) * kBlockStart + busiest / in_flight * kMemoryLatency;
  // Batches of chunks: where K ends within one, its chunks are looked at element by element.
  const double batch = g.along ? double(config.at("lanes")) * config.at("unroll") * g.vector
                               : double(threads / config.at("lanes")) * config.at("unroll");
  const double batches = std::ceil(k / split_k) / batch, whole = std::floor(batches);
  const double cycles_of_element = whole * kElementCycles + (batches > whole ? kPartCycles : 0);
  const double warps = threads / double(kWarpThreads);
  made.multiplying = blocks_of_sm * warps / 4 * config.at("unroll") * rows * g.vector * cycles_of_element;
  double cycles = std::max({made.dram, made.latency, made.multiplying + kBlockStart, made.dram + kMemoryLatency});

  const double alone = cycles;
  if (config.at("cluster") == 1 && split_k > 1) cycles += kClusterSync;
  if (has_second_launch(config)) cycles += next_launch_cycles(config.at("overlap") == 1);
  made.cycles = first_launch_cycles(config) + cycles;
  made.passes = made.cycles - alone;
  return made;
}

}  // namespace tilesmith::gemv
