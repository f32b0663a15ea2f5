#include "kernels/wmma/geometry.hpp"

#include <algorithm>

namespace tilesmith::wmma {

Geometry::Geometry(const Config& config, const TypePair& type, Transposes trans) {
  const int operand = int(size_bytes(type.a));
  const int accumulator = int(size_bytes(type.accumulator));
  const int frag_m = config.at("frag_m"), frag_n = config.at("frag_n");
  const int frags_m = config.at("frags_m"), frags_n = config.at("frags_n");
  const int block_k = config.at("block_k"), stages = config.at("stages");
  frag_k = operand == 8 ? 4 : operand == 4 ? 8 : 16;
  warps = config.at("warps_m") * config.at("warps_n");
  block_m = frag_m * frags_m * config.at("warps_m");
  block_n = frag_n * frags_n * config.at("warps_n");

  const int pad = config.at("pad_bytes");
  const auto tile_bytes = [&](bool transposed, int rows, int cols) {
    return transposed ? std::int64_t(cols) * (rows * operand + pad) : std::int64_t(rows) * (cols * operand + pad);
  };
  const std::int64_t stage_bytes = tile_bytes(trans.a, block_m, block_k) + tile_bytes(trans.b, block_k, block_n);
  const std::int64_t scratch_row_bytes = frag_m * (std::int64_t(frag_n) * frags_n * accumulator + 16);
  const std::int64_t operand_fragment_bytes = std::int64_t(std::max(frag_m, frag_n)) * frag_k * operand;
  const std::int64_t scratch_bytes = warps * std::max(scratch_row_bytes, operand_fragment_bytes);
  smem_bytes = std::max(stages * stage_bytes, scratch_bytes);

  accumulator_registers = frag_m * frag_n * frags_m * frags_n * accumulator / 4 / kWarpThreads;
  // Fragments of A and B hold their elements twice in some layouts; counted once, as a lower bound.
  operand_registers =
      config.at("frag_buffers") * (frag_m * frags_m + frag_n * frags_n) * frag_k * operand / 4 / kWarpThreads;
}

}  // namespace tilesmith::wmma
