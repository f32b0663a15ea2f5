#include "kernels/dequant/geometry.hpp"

#include <algorithm>

#include "kernels/problem/weights.hpp"

namespace tilesmith::dequant {
namespace {

constexpr int kOtherRegisters = 60;  // addresses, fragments of W, what is copied

}  // namespace

Geometry::Geometry(const Config& config, const KernelSignature& signature) {
  const Weights& weights = signature.weights;
  const int warps_n = config.at("warps_n"), warps_k = config.at("warps_k"), block_m = config.at("block_m"),
            block_n = config.at("block_n");
  threads = 32 * warps_n * warps_k;
  strips = block_n / kCodeBlockRows / warps_n;
  token_tiles = block_m / 8;
  step_k = warps_k * config.at("warp_columns");
  const int groups = weights.group == 0 || weights.group > step_k ? 1 : step_k / weights.group;
  const int scale_bytes = groups * block_n * int(size_bytes(weight_scale_element(signature)));
  stage_bytes = block_n / kCodeBlockRows * (step_k / weight_block_columns(weights.type)) * kCodeBlockBytes +
                block_m * step_k * 2 + (weights.zeros ? 2 : 1) * scale_bytes;
  const int sums_bytes = warps_k * block_m * (block_n + 4) * 4;
  smem_bytes = std::max(config.at("stages") * stage_bytes, sums_bytes);
  const int of_scales = (config.at("scale_sums") == 1 ? 0 : 2) + (weights.zeros ? 2 : 0);
  registers = strips * token_tiles * 4 * (config.at("scale_sums") == 1 ? 2 : 1) + 2 * token_tiles * 4 +
              strips * (4 + of_scales) + kOtherRegisters;
}

std::int64_t Geometry::tiles(const Config& config, const Problem& problem) const {
  return most_tile_rows(problem, config.at("block_m")) * ((problem.n - 1) / config.at("block_n") + 1);
}

}  // namespace tilesmith::dequant
