#include "kernels/dequant/dequant.hpp"

#include "kernels/families/shared_rules.hpp"
#include "kernels/problem/weights.hpp"

#include <algorithm>

namespace tilesmith::dequant {
namespace {

constexpr int kMaxPortableCluster = 8;

}  // namespace

std::vector<Parameter> parameters(const KernelTarget& target) {
  const Features& features = target.limits.features;
  const bool nibbles = weight_block_columns(target.weights.type) == 64;
  return {
      {"block_m", {8, 16, 32, 64, 128}, "rows of A of a block, all of them of each of its warps"},
      {"block_n", {16, 32, 64, 128, 256}, "rows of W of a block"},
      {"warps_n", {1, 2, 4, 8}, "warps that share these rows"},
      {"warps_k", {1, 2, 4, 8}, "warps that share the columns of a step of K, and add what they have in shared memory"},
      {"warp_columns", nibbles ? std::vector{64, 128} : std::vector{32, 64, 128}, "columns of a step of each of them"},
      {"stages", {2, 3, 4, 6, 8}, "steps in shared memory, being copied or multiplied"},
      {"scale_sums", {0, 1}, "scales multiply 0: weights; 1: sums over the columns that share one"},
      {"split_k", {1, 2, 3, 4, 6, 8, 16}, "slices of K, each of a block of its own"},
      {"cluster", off_or_on(features.clusters),
          "slices meet 0: in the workspace, added by a second launch; 1: in a cluster's shared memory"},
      {"min_blocks", {1, 2, 3, 4}, "blocks an SM must have room for: registers are limited so"},
      {"overlap", off_or_on(features.dependent_launch),
          "1: the launch that adds slices starts while the one before it ends, and waits for its results (sm_90)"},
      early_launch_parameter(target),
      {"ahead", off_or_on(features.dependent_launch),
          "1: while the kernel before still ends, the L2 is asked for the first weights (sm_90)"},
  };
}

std::vector<Rule> rules(const KernelTarget& target) {
  const KernelSignature signature = target;
  const DeviceLimits limits = target.limits;
  const bool grouped = target.batch_mode == BatchMode::grouped;
  return {
      {"strips", "a warp has 1 to 4 strips of 16 rows of W: of more the codes take too many registers",
          [](const Config& c) {
            const int rows = kCodeBlockRows * c.at("warps_n");
            return c.at("block_n") % rows == 0 && c.at("block_n") / rows <= 4;
          },
          {"block_n", "warps_n"}},
      {"warps", "2 to 16 warps a block: one alone does not hide its waits, more cannot hold tiles large enough",
          [](const Config& c) {
            const int warps = c.at("warps_n") * c.at("warps_k");
            return warps >= 2 && warps <= 16;
          },
          {"warps_n", "warps_k"}},
      {"tokens of warps along K", "of many rows of A the sums of warps along K take more time than they save",
          [](const Config& c) { return c.at("block_m") * c.at("warps_k") <= 128; }, {"block_m", "warps_k"}},
      {"rows of a step",
          "the chunks of a row of A are exchanged among eight, so that a step has 128 bytes or more of A",
          [bytes = int(size_bytes(signature.type.a))](
              const Config& c) { return c.at("warps_k") * c.at("warp_columns") * bytes >= 128; },
          {"warps_k", "warp_columns"}},
      {"scales of sums",
          "scales of f32 would be rounded to A's type before they multiply weights, as would those of K-quants, and bytes hold no scaled weights",
          [of_sums = signature.weights.f32_scales || is_k_quant(signature.weights.type) ||
                     size_bytes(signature.type.a) == 1](
              const Config& c) { return !of_sums || c.at("scale_sums") == 1; },
          {"scale_sums"}},
      {"registers", "sums, fragments and codes beyond what a thread has of the registers spill",
          [signature, limits](const Config& c) {
            const Geometry g(c, signature);
            return g.registers <=
                   std::min(limits.registers_per_thread, limits.registers_per_sm / (g.threads * c.at("min_blocks")));
          },
          {"block_m", "block_n", "warps_n", "warps_k", "warp_columns", "scale_sums", "min_blocks", "stages"}},
      {"cluster", "a cluster is made of 2 to 8 slices: 8 blocks are what every device grants",
          [](const Config& c) {
            return c.at("cluster") == 0 || (c.at("split_k") >= 2 && c.at("split_k") <= kMaxPortableCluster);
          },
          {"split_k", "cluster"}},
      {"overlap", "two launches overlap wherever the device can (sm_90): waiting for each other's end gains nothing",
          [overlaps = limits.features.dependent_launch](
              const Config& c) { return c.at("overlap") == (overlaps && has_second_launch(c) ? 1 : 0); },
          {"split_k", "cluster", "overlap"}},
      {"slices of groups",
          "slices of K are added within a cluster: a pass over D would write rows that belong to no group",
          [grouped](const Config& c) { return !grouped || !has_second_launch(c); }, {"split_k", "cluster"}},
      {"slices of pairs",
          "of a gate slices of K are added within a cluster: a pass over D would have to find both columns of a pair",
          [gated = signature.epilogue.is_gated()](const Config& c) { return !gated || !has_second_launch(c); },
          {"split_k", "cluster"}},
      {"halves of a gate", "a tile has rows of W of both halves of a gate, 16 of each or more",
          [halves = row_of(signature.epilogue.activation).gate == Gate::halves](
              const Config& c) { return !halves || c.at("block_n") >= 2 * kCodeBlockRows; },
          {"block_n"}},
      {"ahead",
          "there is nothing to be ahead of where blocks come when the kernel before has ended, or where it may write which group a block has",
          [grouped](const Config& c) { return c.at("ahead") == 0 || (c.at("early_launch") == 1 && !grouped); },
          {"ahead", "early_launch"}},
      {"shared memory", "the stages, and the warps' sums, must fit the shared memory of so many blocks",
          [signature, limits](const Config& c) {
            return tensor_core::fits_shared_memory(Geometry(c, signature).smem_bytes, c.at("min_blocks"), limits);
          },
          {"block_m", "block_n", "warps_n", "warps_k", "warp_columns", "stages", "min_blocks", "scale_sums"}},
  };
}

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
  const bool minima = weights.type == WeightType::q4_k, q6k = weights.type == WeightType::q6_k;
  const bool zeros = weights.zeros && !minima && !q6k;
  const int zero_bytes = minima || q6k ? std::max(1, step_k / kSuperColumns) * block_n * (minima ? 4 : 2)
                         : zeros       ? scale_bytes
                                       : 0;
  stage_bytes =
      block_n / kCodeBlockRows * (step_k / weight_block_columns(weights.type)) * weight_block_bytes(weights.type) +
      block_m * step_k * int(size_bytes(signature.type.a)) + scale_bytes + zero_bytes;
  const int sums_bytes = warps_k * block_m * (block_n + 4) * 4;
  const int factor_bytes = minima || q6k ? warps_k * block_n * 16 : 0;  // of 64 columns of a row (warp_factors.cuh)
  smem_bytes = std::max(config.at("stages") * stage_bytes + factor_bytes, sums_bytes);
  const int of_scales = (config.at("scale_sums") == 1 ? 0 : 2) + (zeros ? 2 : 0);
  registers = strips * token_tiles * 4 * (config.at("scale_sums") == 1 ? 2 : 1) + (minima ? 3 : 2) * token_tiles * 4 +
              strips * (weight_block_bytes(weights.type) / 128 + of_scales) + kOtherRegisters;
}

std::int64_t Geometry::tiles(const Config& config, const Problem& problem) const {
  return most_tile_rows(problem, config.at("block_m")) * ((problem.n - 1) / config.at("block_n") + 1);
}

}  // namespace tilesmith::dequant
