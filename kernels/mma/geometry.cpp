#include "kernels/mma/geometry.hpp"

#include <algorithm>

namespace tilesmith::mma {
namespace {

constexpr int kWarpThreads = 32;
constexpr int kSumsPad = 8;  // elements, epilogue.cuh

}  // namespace

int slab_k(const TypePair& type, int inst_k) {
  return type.operand == Scalar::f64 ? std::max(8, inst_k) : 32 / int(size_bytes(type.operand));
}

Geometry::Geometry(const Config& config, const TypePair& type)
    : block_m(config.at("block_m")), block_n(config.at("block_n")), block_k(config.at("block_k")) {
  const int operand = int(size_bytes(type.operand)), accumulator = int(size_bytes(type.accumulator));
  const int warp_m = config.at("warp_m"), warp_n = config.at("warp_n"), slice_k = config.at("slice_k");
  warps_m = block_m / warp_m;
  warps_n = block_n / warp_n;
  const int warps_of_slice = warps_m * warps_n;
  threads = warps_of_slice * slice_k * kWarpThreads;
  slab_k = mma::slab_k(type, config.at("inst_k"));
  slabs = block_k / slab_k / slice_k;
  accumulator_registers = warp_m * warp_n * accumulator / 4 / kWarpThreads;
  fragment_registers = config.at("frag_buffers") * (warp_m + warp_n) * slab_k * operand / 4 / kWarpThreads;
  stage_bytes = std::int64_t(block_m + block_n) * block_k * operand;

  const std::int64_t ring_bytes = config.at("stages") * stage_bytes;
  const bool in_cluster = config.at("split_k") > 1 && config.at("reduction") == within_cluster;
  if (slice_k > 1 || in_cluster) {
    smem_bytes = std::max(ring_bytes, std::int64_t(slice_k) * block_m * (block_n + kSumsPad) * accumulator);
  } else if (config.at("store_staged") == 1) {
    const std::int64_t scratch_bytes = std::int64_t(warps_of_slice) * 16 * (warp_n + kSumsPad) * accumulator;
    smem_bytes = config.at("persistent") == 1 ? ring_bytes + scratch_bytes : std::max(ring_bytes, scratch_bytes);
  } else {
    smem_bytes = ring_bytes;
  }
  if (config.at("tma") == 1) smem_bytes += 2 * 8 * config.at("stages");  // the ring's barriers
}

std::int64_t Geometry::tiles(const Problem& problem) const {
  return ((problem.m - 1) / block_m + 1) * ((problem.n - 1) / block_n + 1);
}

}  // namespace tilesmith::mma
