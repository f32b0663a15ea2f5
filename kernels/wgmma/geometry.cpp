#include "kernels/wgmma/wgmma.hpp"

#include <algorithm>

#include "kernels/problem/weights.hpp"
#include "kernels/shared/load/pass_layout.cuh"
#include "kernels/shared/multiply/sparse_layout.cuh"
#include "kernels/shared/store/block_memory.cuh"
#include "kernels/wgmma/columns.cuh"
#include "kernels/wgmma/scale_counts.cuh"

namespace tilesmith::wgmma {
namespace {

constexpr int kPanelRowBytes = 128;
constexpr int kInstructionKBytes = 32;
constexpr int kGroupThreads = 128;
constexpr int kStageStep = 1024;  // that stages begin at, for the swizzle
constexpr int kMostUntraded = 160, kCopyingRegisters = 24, kMostRegisters = 240;  // shape.cuh

}  // namespace

int panel_elements(const TypePair& type) { return kPanelRowBytes / int(size_bytes(type.a)); }

bool a_k_major(const Config& config, Transposes trans) { return !trans.a || (config.at("pack") & pack_a) != 0; }
bool b_k_major(const Config& config, Transposes trans) { return trans.b || (config.at("pack") & pack_b) != 0; }

bool left_from_registers(const Config& config, const TypePair& type, Transposes trans) {
  return size_bytes(type.a) != 2 && !(config.at("swap") == 1 ? b_k_major(config, trans) : a_k_major(config, trans));
}

bool scales_steps(const TypePair& type, const Stored& trans) {
  return trans.by_block() || (trans.weights.type != WeightType::none && size_bytes(type.a) == 1);
}

bool takes_left_words(const Config& config, const TypePair& type, const Stored& trans) {
  return trans.weights.type != WeightType::none || type.a == Scalar::f32x3 || left_from_registers(config, type, trans);
}

std::int64_t split_columns(std::int64_t k) { return 2 * packed_row_stride(k, int(sizeof(float))); }

bool takes_boxes(const Problem& problem) {
  const Scalar output = problem.type.output;
  return c_align_bytes(problem) >= 16 && problem.d_cols() * std::int64_t(size_bytes(output)) % 16 == 0;
}

Geometry::Geometry(const Config& config, const TypePair& type, Stored trans)
    : block_m(config.at("block_m")), block_n(config.at("block_n")), block_k(config.at("block_k")) {
  const int operand = int(size_bytes(type.a)), accumulator = int(size_bytes(type.accumulator));
  const int groups = config.at("warpgroups"), schedule = config.at("schedule");
  swap = config.at("swap") == 1;
  tile_groups = schedule == ping_pong ? 1 : groups;
  left_extent = swap ? block_n : block_m;
  right_extent = swap ? block_m : block_n;
  left_tiles = left_extent / tile_groups / 64;
  instructions = first_columns(right_extent) == right_extent ? 1 : 2;
  sum_registers = left_tiles * right_extent / (accumulator == 2 ? 4 : 2);
  const bool is_split = type.a == Scalar::f32x3;
  const bool by_steps = scales_steps(type, trans);
  held_registers = sum_registers * (trans.by_block() ? 3 : is_split || by_steps ? 2 : 1);  // sums, and parts of them
  // Of a step, four for each instruction (left_operand.cuh); split, of two slabs eight (left_split.cuh).
  left_registers = is_split ? left_tiles * 16
                   : left_from_registers(config, type, trans)
                       ? left_tiles * 4 * (block_k * operand / kInstructionKBytes)
                       : 0;
  if (trans.by_block()) {
    const Scaling left = swap ? trans.scale_n : trans.scale_m, right = swap ? trans.scale_m : trans.scale_n;
    const int of_columns = trans.gated && !swap ? kPairScales : 1;
    const int of_step =
        left_tiles * (left == Scaling::block && !(trans.gated && swap) ? 1 : 2) +
        (right == Scaling::block ? right_extent / columns_of_scale(right_extent) * of_columns : right_extent / 4);
    left_registers = of_step * steps_of_scales(of_step, sum_registers);
  }
  const Weights& weights = trans.weights;
  const bool weighted = weights.type != WeightType::none;
  if (weighted) {  // of a step numbers, four for each instruction; codes; scales and zeros of now and of the next step (left_weights.cuh)
    const int slabs = block_k * operand / kInstructionKBytes,
              of_step = weights.group == 0 || weights.group >= block_k ? 1 : block_k / weights.group;
    left_registers = left_tiles * (4 * slabs + 4 + of_step * (weights.zeros ? 6 : 3));
    if (operand == 1) {  // of as many steps as it loads ahead, and tables, beside what zeros take (coded_tile.cuh)
      const int of_zeros = of_step == 1 ? 24 : is_integer(type.a) ? 120 : 56;
      const int terms = left_tiles * of_step * (weights.zeros ? 4 : 2);
      left_registers = left_tiles * 4 * slabs + terms * coded_steps_ahead(terms, sum_registers) - 4 +
                       (weights.zeros ? 16 * left_tiles + of_zeros : 0);
    }
  }
  min_blocks = config.at("min_blocks");
  const bool would_trade = by_steps ? groups > 1 : held_registers * groups > kMostUntraded;  // scaled.cu; shape.cuh
  trades_registers = min_blocks == 1 && would_trade;
  threads = groups * kGroupThreads + (trades_registers ? kGroupThreads : 32);
  cluster_m = config.at("cluster_m");
  cluster_n = config.at("cluster_n");
  const auto copied = [&](int extent, bool k_major) {
    return k_major ? extent : (extent + panel_elements(type) - 1) / panel_elements(type) * panel_elements(type);
  };
  copied_m = copied(block_m, a_k_major(config, trans));
  copied_n = copied(block_n, b_k_major(config, trans));
  copies_m = is_split && swap ? 2 : 1;
  copies_n = is_split && !swap ? 2 : 1;
  stage_bytes = (copied_m * copies_m + copied_n * copies_n) * block_k * operand;
  if (weighted)
    stage_bytes = copied_m * block_k * operand + block_n * block_k * int(size_bits(weight_element(weights.type))) / 8;
  metadata_bytes = 0;
  if (trans.sparsity != Sparsity::dense) {  // stage.cuh
    metadata_bytes = block_k / metadata_block_k(operand) * (left_extent / kMetadataRows) * kMetadataWords * 4;
    stage_bytes += metadata_bytes - left_extent * block_k / 2 * operand;
    stage_bytes = (stage_bytes + kStageStep - 1) / kStageStep * kStageStep;
  }

  int epilogue_bytes = 0;
  if (cluster_k(config) > 1) {
    epilogue_bytes = summed_elements(block_m, block_n) * accumulator;
  } else if (config.at("store_tma") == 1) {
    epilogue_bytes = schedule == one_tile
                         ? block_m * block_n * int(size_bytes(type.output))
                         : groups * 4 * (schedule == cooperative ? 2 : 1) * kBoxBytes;  // box_store.cuh
  } else if (config.at("store_staged") == 1) {
    epilogue_bytes = groups * 4 * scratch_elements(right_extent) * accumulator;
  }
  smem_bytes = block_memory(config.at("stages") * stage_bytes, epilogue_bytes, barrier_bytes(config.at("stages")),
      schedule != one_tile || config.at("stagger") > 0)
                   .bytes;
}

std::int64_t Geometry::items(const Problem& problem) const {
  return most_tile_rows(problem, block_m * cluster_m) * ((tiled_columns(problem) - 1) / (block_n * cluster_n) + 1);
}

EvenTiles Geometry::even_tiles(const Problem& problem, int group_m, unsigned clusters) const {
  const std::int64_t columns = tiled_columns(problem), across = swap ? columns : problem.m,
                     dealt = swap ? problem.m : columns;
  return {int((across - 1) / (left_extent * sharing_blocks()) + 1), int(dealt), right_extent, group_m, clusters};
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
