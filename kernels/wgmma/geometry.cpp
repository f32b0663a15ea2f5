#include "kernels/wgmma/geometry.hpp"

#include <algorithm>

namespace tilesmith::wgmma {
namespace {

constexpr int kPanelRowBytes = 128;
constexpr int kGroupThreads = 128;
constexpr int kMostUntraded = 160, kCopyingRegisters = 24, kMostRegisters = 240;  // shape.cuh
constexpr int kSumsPad = 8, kScratchRows = 8;                                     // tensor_core/epilogue.cuh

}  // namespace

int panel_elements(const TypePair& type) { return kPanelRowBytes / int(size_bytes(type.operand)); }

bool a_k_major(const TypePair& type, Transposes trans) { return !trans.a || size_bytes(type.operand) != 2; }
bool b_k_major(const TypePair& type, Transposes trans) { return trans.b || size_bytes(type.operand) != 2; }

Geometry::Geometry(const Config& config, const TypePair& type)
    : block_m(config.at("block_m")), block_n(config.at("block_n")), block_k(config.at("block_k")) {
  const int operand = int(size_bytes(type.operand)), accumulator = int(size_bytes(type.accumulator));
  const int groups = config.at("warpgroups"), schedule = config.at("schedule");
  const bool swap = config.at("swap") == 1;
  tile_groups = schedule == ping_pong ? 1 : groups;
  left_extent = swap ? block_n : block_m;
  right_extent = swap ? block_m : block_n;
  left_tiles = left_extent / tile_groups / 64;
  sum_registers = left_tiles * right_extent / (accumulator == 2 ? 4 : 2);
  min_blocks = config.at("min_blocks");
  trades_registers = min_blocks == 1 && sum_registers * groups > kMostUntraded;
  threads = groups * kGroupThreads + (trades_registers ? kGroupThreads : 32);
  cluster_m = config.at("cluster_m");
  cluster_n = config.at("cluster_n");
  staged_columns = right_extent % 64 == 0 ? 64 : right_extent % 32 == 0 ? 32 : 16;
  stage_bytes = std::int64_t(block_m + block_n) * block_k * operand;

  const std::int64_t ring_bytes = config.at("stages") * stage_bytes;
  if (cluster_k(config) > 1) {
    smem_bytes = std::max(ring_bytes, std::int64_t(block_m) * (block_n + kSumsPad) * accumulator);
  } else if (config.at("store_staged") == 1) {
    const std::int64_t scratch_bytes =
        std::int64_t(groups) * 4 * kScratchRows * (staged_columns + kSumsPad) * accumulator;
    smem_bytes = schedule != one_tile ? ring_bytes + scratch_bytes : std::max(ring_bytes, scratch_bytes);
  } else {
    smem_bytes = ring_bytes;
  }
  smem_bytes += 2 * 8 * config.at("stages");  // the ring's barriers
}

std::int64_t Geometry::items(const Problem& problem) const {
  return ((problem.m - 1) / (block_m * cluster_m) + 1) * ((problem.n - 1) / (block_n * cluster_n) + 1);
}

int Geometry::available_registers(int registers_per_sm) const {
  // Warps are dealt to four schedulers, each with a quarter of the registers.
  const int granted = (threads + kGroupThreads - 1) / kGroupThreads * kGroupThreads;
  const int at_launch = registers_per_sm / min_blocks / granted / 8 * 8;
  // To blocks of 512 threads ptxas (13.0) gives no more than at the launch.
  if (threads >= 512) return at_launch;
  const int multiplying = threads - (trades_registers ? kGroupThreads : 32);
  const int after =
      trades_registers ? (at_launch * threads - kCopyingRegisters * kGroupThreads) / multiplying / 8 * 8 : at_launch;
  return std::min(after, kMostRegisters);
}

}  // namespace tilesmith::wgmma
