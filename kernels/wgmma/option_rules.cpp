#include "kernels/wgmma/wgmma.hpp"

#include "kernels/families/shared_rules.hpp"
#include "kernels/problem/weights.hpp"
#include "kernels/shared/finish/paired_columns.cuh"
#include "kernels/shared/store/block_memory.cuh"

namespace tilesmith::wgmma {
namespace {

/// Where two columns of the product make one of D.
std::vector<Rule> pair_rules(const KernelTarget& target) {
  const bool gated = target.epilogue.is_gated();
  const int output = int(size_bytes(target.type.output));
  return {
      paired_columns_rule(target, b_k_major, {"pack"}),
      {"steps of pairs",
          "gated columns come by 8 of x and 8 of y, to each block that copies a part; by swapped operands they are stored straight, for few rows; boxes "
          "have half the columns",
          [gated, output](const Config& c) {
            if (!gated) return true;
            if (c.at("block_n") % (kPairedStep * c.at("cluster_m")) != 0) return false;
            if (c.at("swap") == 1)
              return c.at("schedule") == one_tile && c.at("store_tma") == 0 && c.at("block_m") <= 128;
            return c.at("store_tma") == 0 || c.at("block_n") / 2 * output % kBoxRowBytes == 0;
          },
          {"block_m", "block_n", "cluster_m", "swap", "schedule", "store_tma"}},
  };
}

/// What is asked of a B of weights.
std::vector<Rule> weight_rules(const KernelTarget& target) {
  if (!has_weights(target)) return {};
  const KernelSignature signature = target;
  return {
      {"weights beside staggered even tiles",
          "where two warpgroups have 80 sums a thread, and get no registers of the copying warp, or 128 beside weights of 8 bits or long K-steps, the rest "
          "spills",
          [signature](const Config& c) {
            if (c.at("even") == 0 || c.at("stagger") == 0) return true;
            const Geometry g(c, signature.type, signature);
            const bool wide = size_bits(weight_element(signature.weights.type)) == 8 || c.at("block_k") > 64;
            return (g.trades_registers || c.at("warpgroups") == 1 || g.sum_registers < 80) &&
                   (g.sum_registers < 128 || !wide);
          },
          {"block_m", "block_n", "block_k", "warpgroups", "schedule", "even", "stagger", "min_blocks", "swap"}},
      {"weights",
          "they are the left operand, so that they may come from registers; a block copies its own, as they lie",
          [](const Config& c) { return c.at("swap") == 1 && c.at("cluster_m") == 1 && (c.at("pack") & pack_b) == 0; },
          {"swap", "cluster_m", "pack"}}};
}

/// What scaled.cu multiplies.
std::vector<Rule> scaled_step_rules(const KernelTarget& target) {
  if (!scales_steps(target.type, target.signature())) return {};
  const KernelSignature signature = target;
  return {{"steps of scales", "a step is 128 of K, of operands that lie K-major, or are packed so",
              [signature](const Config& c) {
                return c.at("block_k") == kScaleBlock && a_k_major(c, signature.trans) && b_k_major(c, signature.trans);
              },
              {"block_k", "pack"}},
      {"columns of scales",
          "where blocks of columns have a scale, an instruction's lie within one, or begin at a multiple of 32 in one",
          [signature](const Config& c) {
            const Geometry g(c, signature.type, signature);
            if (g.instructions > 1) return false;
            const Scaling right = g.swap ? signature.epilogue.scale_m : signature.epilogue.scale_n;
            return right != Scaling::block || kScaleBlock % g.right_extent == 0 || g.right_extent % 32 == 0;
          },
          {"block_m", "block_n", "warpgroups", "schedule", "swap"}},
      {"schedule of scales", "all warpgroups are on one tile, and store it themselves",
          [](const Config& c) {
            return c.at("schedule") != ping_pong && c.at("stagger") == 0 && c.at("even") == 0 && c.at("store_tma") == 0;
          },
          {"schedule", "stagger", "even", "store_tma"}}};
}

/// What the accelerator cannot store of groups.
std::vector<Rule> box_rules(const KernelTarget& target) {
  if (target.batch_mode != BatchMode::grouped) return {};
  return {{"boxes of groups",
      "of a group's last tile the warp stores what is the group's, which it does not of boxes that several warps fill",
      [](const Config& c) { return c.at("store_tma") == 0 || c.at("swap") == 0; }, {"store_tma", "swap"}}};
}

}  // namespace

std::vector<Rule> option_rules(const KernelTarget& target) {
  return joined({pair_rules(target), weight_rules(target), scaled_step_rules(target), box_rules(target)});
}

std::vector<Rule> sparse_rules(const KernelTarget& target) {
  if (target.sparsity == Sparsity::dense) return {};
  const bool of_b = target.sparsity == Sparsity::b;
  return {
      {"the sparse operand",
          "it is the instruction's left one: where B is, operands are swapped. It is read as it lies, with metadata that are made for it",
          [of_b](
              const Config& c) { return c.at("swap") == int(of_b) && (c.at("pack") & (of_b ? pack_b : pack_a)) == 0; },
          {"swap", "pack"}},
      {"groups of a sparse operand", "they do not go apart", [](const Config& c) { return c.at("stagger") == 0; },
          {"stagger"}},
      {"stores of a sparse B",
          "swapped sums are stored straight, or by the accelerator: of one tile a block, of more than 64 rows in no multiple of 64",
          [of_b](const Config& c) {
            if (!of_b || c.at("store_staged") == 0) return true;
            return c.at("store_tma") == 1 && c.at("schedule") == one_tile && c.at("block_m") > 64 &&
                   c.at("block_m") % 64 != 0;
          },
          {"block_m", "schedule", "store_staged", "store_tma"}},
  };
}

}  // namespace tilesmith::wgmma
