#include "kernels/mma/mma.hpp"

#include <algorithm>

#include "kernels/shared/multiply/sparse_layout.cuh"
#include "kernels/shared/store/block_memory.cuh"

namespace tilesmith::mma {
namespace {

constexpr int kWarpThreads = 32;
// warps.cuh has these too.
constexpr int kManyRegisters = 128, kThreadsOfEight = 256, kTradingThreads = 128, kCopyingRegisters = 24;
constexpr int kFragmentRows = 16;  // of one load

bool turned(const Config& config, Pack operand) {
  return config.at("pack_k_major") == 1 && (config.at("pack") & operand) != 0;
}

}  // namespace

bool skewed(const Config& config) { return config.at("copy_bytes") < 4; }
int chunk_bytes(const Config& config) { return skewed(config) ? 16 : config.at("copy_bytes"); }

bool a_k_major(const Config& config, Transposes trans) { return !trans.a || turned(config, pack_a); }
bool b_k_major(const Config& config, Transposes trans) { return trans.b || turned(config, pack_b); }

int slab_k(const TypePair& type, int inst_k) {
  return type.a == Scalar::f64 ? std::max(8, inst_k) : 32 / int(size_bytes(type.a));
}

Geometry::Geometry(const Config& config, const KernelSignature& signature)
    : block_m(config.at("block_m")), block_n(config.at("block_n")), block_k(config.at("block_k")) {
  const TypePair& type = signature.type;
  const bool sparse = signature.sparsity != Sparsity::dense;
  const int operand = int(size_bytes(type.a)), accumulator = int(size_bytes(type.accumulator));
  const int warp_m = config.at("warp_m"), warp_n = config.at("warp_n"), slice_k = config.at("slice_k");
  warps_m = block_m / warp_m;
  warps_n = block_n / warp_n;
  const int warps_of_slice = warps_m * warps_n;
  multiplying_threads = warps_of_slice * slice_k * kWarpThreads;
  slab_k = mma::slab_k(type, config.at("inst_k")) * (sparse ? 2 : 1);
  slabs = block_k / slab_k / slice_k;
  accumulator_registers = warp_m * warp_n * accumulator / 4 / kWarpThreads;
  // With a single buffer a warp's columns are loaded as they are used, two loads ahead.
  const bool two = config.at("frag_buffers") == 2;
  const int fragment_rows = two ? 2 * (warp_m + warp_n) : warp_m + std::min(warp_n, 2 * kFragmentRows);
  fragment_registers = fragment_rows * slab_k * operand / 4 / kWarpThreads;
  if (sparse) {  // of the left operand half of that, and words of metadata
    const int left = config.at("swap") == 1 ? warp_n : warp_m, buffers = two ? 2 : 1;
    fragment_registers += buffers * (left / kFragmentRows - left * slab_k * operand / 2 / 4 / kWarpThreads);
  }
  // Of all right operands two words for one, of one left operand; a product for each element of a row of theirs.
  const int right = config.at("swap") == 1 ? warp_m : warp_n;
  split_registers = type.a == Scalar::f32x3
                        ? 2 * (right + kFragmentRows) * slab_k / kWarpThreads + kFragmentRows * right / kWarpThreads
                        : 0;
  const bool by_block = signature.epilogue.has_block_scales();
  if (by_block) {  // a part of the sums, and scales
    const bool each = signature.epilogue.scale_n == Scaling::each_by_block;
    split_registers = accumulator_registers + warp_m / 8 +
                      (each                           ? warp_n / 4
                          : kScaleBlock % warp_n == 0 ? 1
                                                      : warp_n / 16);
  }
  const bool tma = config.at("tma") == 1;
  min_blocks = config.at("min_blocks");
  trades_registers = tma && accumulator_registers + fragment_registers >= kManyRegisters &&
                     multiplying_threads * min_blocks >= kThreadsOfEight;
  threads = multiplying_threads + (trades_registers ? kTradingThreads : tma ? kWarpThreads : 0);
  stage_bytes = (block_m + block_n) * block_k * operand;
  if (skewed(config)) {
    const Transposes trans = signature.trans;
    stage_bytes += 16 * ((trans.a ? block_k : block_m) + (trans.b ? block_n : block_k));
  }
  metadata_bytes = 0;
  if (sparse) {
    const int left = config.at("swap") == 1 ? block_n : block_m;
    metadata_bytes = block_k / metadata_block_k(operand) * (left / kMetadataRows) * kMetadataWords * 4;
    stage_bytes += metadata_bytes - left * block_k / 2 * operand;
  }

  int epilogue = 0;  // elements
  if (slice_k > 1 || cluster_k(config) > 1) {
    epilogue = slice_k * summed_elements(block_m, block_n);
  } else if (config.at("store_staged") == 1) {
    epilogue = warps_of_slice * scratch_elements(warp_n);
  }
  smem_bytes = block_memory(config.at("stages") * stage_bytes, epilogue * accumulator,
      tma ? barrier_bytes(config.at("stages")) : 0, config.at("persistent") == 1)
                   .bytes;
  if (by_block) smem_bytes += (config.at("stages") + 1) * (block_m + block_n) * int(sizeof(float));
}

std::int64_t Geometry::tiles(const Problem& problem) const {
  return most_tile_rows(problem, block_m) * ((tiled_columns(problem) - 1) / block_n + 1);
}

int Geometry::available_registers(int registers_per_sm) const {
  // Warps are dealt to four schedulers, each with a quarter of the registers.
  const int granted = (threads + kTradingThreads - 1) / kTradingThreads * kTradingThreads;
  const int at_launch = registers_per_sm / min_blocks / granted / 8 * 8;
  if (!trades_registers) return at_launch;
  return (at_launch * threads - kCopyingRegisters * kTradingThreads) / multiplying_threads / 8 * 8;
}

}  // namespace tilesmith::mma
