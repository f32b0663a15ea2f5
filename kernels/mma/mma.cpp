#include "kernels/mma/mma.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "kernels/families/render.hpp"
#include "kernels/problem/sub_byte.hpp"

namespace tilesmith {
namespace {

using mma::Geometry;

/// The panels of tile.cuh, as the boxes in which tensor_copy.cuh copies them.
TensorBoxes tensor_boxes(const Config& config, const Geometry& g, const Problem& problem) {
  const int element = int(size_bytes(problem.type.a));
  const auto box = [&](bool k_major, std::int64_t extent, int block) {  // along M or N
    const int tile_cols = k_major ? g.block_k : block;
    const int panel_row_bytes = tile_cols * element % 128 == 0 ? 128 : 64;
    const int cols = std::min(tile_cols, panel_row_bytes / element);
    return k_major ? TensorBox{extent, problem.k, block, cols} : TensorBox{problem.k, extent, g.block_k, cols};
  };
  TensorBoxes boxes{box(mma::a_k_major(config, problem.trans), problem.m, g.block_m),
      box(mma::b_k_major(config, problem.trans),
          tensor_core::packs_pairs(config, problem) ? tensor_core::tiled_columns(problem) : problem.n, g.block_n)};
  tensor_core::pair_rows(boxes.b, config, problem);
  tensor_core::add_matrices(boxes, problem);
  return boxes;
}

class Mma final : public Family {
 public:
  std::string_view name() const override { return "mma"; }
  std::string_view summary() const override {
    return "tensor cores through PTX mma.sync: swizzled multistage pipelines, split K, packing, persistent grids";
  }

  bool supports(const KernelTarget& target) const override { return mma::supports(target); }
  std::vector<Parameter> parameters(const KernelTarget& target) const override { return mma::parameters(target); }
  std::vector<Rule> rules(const KernelTarget& target) const override { return mma::rules(target); }
  std::optional<Estimate> estimate(
      const Config& config, const KernelTarget& target, const Problem& problem) const override {
    return mma::estimate(config, target, as_multiplied(problem, tensor_core::widening(config)));
  }
  std::vector<Config> initial_configs(const KernelTarget& target, const Problem& problem) const override {
    return mma::initial_configs(target, problem);
  }

  std::optional<std::string> refusal(const Config& config, const Problem& problem) const override;
  std::optional<std::string> dominated(const Config& config, const Problem& problem) const override;
  LaunchSequence launches(const Config& config, const Problem& problem) const override;

  std::string source(const Config& config, const KernelTarget& target) const override {
    if (target.epilogue.has_block_scales())
      return tensor_core::source_with_passes(config, target, "kernels/mma/scaled.cu", block_scale_constants(target));
    return tensor_core::source_with_passes(config, target, "kernels/mma/mma.cu");
  }

  bool deterministic(const Config& config) const override { return tensor_core::deterministic(config); }
};

std::optional<std::string> Mma::refusal(const Config& config, const Problem& asked) const {
  if (auto reason = tensor_core::ends_in_byte(config.at("pack"), asked)) return reason;
  const Problem problem = as_multiplied(asked, tensor_core::widening(config));
  if (auto reason = tensor_core::misaligned(config, problem, config.at("copy_bytes"))) return reason;
  if (config.at("tma") == 1) {
    if (auto reason = tensor_core::unpaired(config, problem)) return reason;
  }
  const Geometry geometry(config, problem);
  const std::int64_t tile_rows = std::max({geometry.block_m, geometry.block_n, geometry.block_k});
  if (mma::skewed(config) && std::max(problem.lda, problem.ldb) * std::int64_t(size_bytes(problem.type.a)) * tile_rows >
                                 std::numeric_limits<int>::max())
    return "skewed rows of a tile lie more than 2 GiB apart";
  if (geometry.tiles(problem) * config.at("split_k") > std::numeric_limits<int>::max())
    return "more tiles of C than a grid has blocks";
  return std::nullopt;
}

std::optional<std::string> Mma::dominated(const Config& config, const Problem& asked) const {
  const Problem problem = as_multiplied(asked, tensor_core::widening(config));
  const int must = tensor_core::sub_bytes_to_pack(asked, tensor_core::widening(config));
  const int copy = config.at("copy_bytes"), pack = config.at("pack");
  const std::array align = tensor_core::operand_aligns(problem);
  const std::array k_major = {!problem.trans.a, problem.trans.b};
  if (problem.batch_mode == BatchMode::pointers && config.at("tma") == 1) return std::nullopt;  // both are packed
  for (int operand = 0; operand < 2; ++operand) {
    const bool turns = config.at("pack_k_major") == 1 && !k_major[operand] &&
                       (size_bytes(problem.type.a) != 2 || problem.epilogue.is_gated());
    if (((pack & ~must) >> operand & 1) != 0 && align[operand] >= 16 && !turns) {
      return fmt::format("rows of {} are aligned to 16 bytes: nothing to pack", "AB"[operand]);
    }
  }
  if (pack == 0 && copy < std::min({align[0], align[1], 16})) {
    return fmt::format("rows are aligned to {} bytes: copies of {} are the same kernel with more instructions",
        std::min(align[0], align[1]), copy);
  }
  return std::nullopt;
}

LaunchSequence Mma::launches(const Config& config, const Problem& asked) const {
  const bool sub_byte = is_sub_byte(asked.type.a);
  const Problem problem = as_multiplied(asked, tensor_core::widening(config));
  const Geometry geometry(config, problem);
  Launch gemm;
  gemm.grid.x = unsigned(geometry.tiles(problem) * config.at("split_k"));
  gemm.block.x = unsigned(geometry.threads);
  gemm.dynamic_smem_bytes = std::size_t(geometry.smem_bytes);
  if (config.at("persistent") == 1) gemm.resident_blocks_per_sm = config.at("min_blocks");
  gemm.cluster.x = unsigned(tensor_core::cluster_k(config));
  if (config.at("tma") == 1) gemm.boxes = tensor_boxes(config, geometry, problem);
  if (sub_byte) gemm.k = problem.k;
  const tensor_core::PackedOperands packed =
      sub_byte ? tensor_core::packed_sub_bytes(asked, tensor_core::widening(config))
               : tensor_core::packed_operands(
                     problem, mma::a_k_major(config, problem.trans), mma::b_k_major(config, problem.trans));
  return tensor_core::with_passes(gemm, config, problem, packed, config.at("overlap") == 1);
}

}  // namespace

std::unique_ptr<Family> make_mma() { return std::make_unique<Mma>(); }

}  // namespace tilesmith
