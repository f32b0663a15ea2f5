#include "kernels/wgmma/wgmma.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "kernels/families/render.hpp"
#include "kernels/problem/sub_byte.hpp"
#include "kernels/problem/weights.hpp"
#include "kernels/shared/finish/paired_columns.cuh"
#include "kernels/shared/store/block_memory.cuh"

namespace tilesmith {
namespace {

using wgmma::Geometry;

constexpr int kCopyBytes = 16;  // what the tensor memory accelerator wants rows aligned to

/// What the kernel reads of an operand: its extent along M or N, K, and which of them its rows run along.
struct Seen {
  std::int64_t extent, k;
  bool k_major;
};

/// 0: A, 1: B.
std::size_t right_operand(const Config& config) { return config.at("swap") == 1 ? 0 : 1; }

std::array<Seen, 2> operands_as_seen(const Config& config, const Problem& problem) {
  std::array<Seen, 2> seen{{{problem.m, problem.k, wgmma::a_k_major(config, problem.trans)},
      {tensor_core::packs_pairs(config, problem) ? tensor_core::tiled_columns(problem) : problem.n, problem.k,
          wgmma::b_k_major(config, problem.trans)}}};
  if (problem.sparsity != Sparsity::dense) seen[problem.sparsity == Sparsity::b ? 1 : 0].k /= 2;
  if (problem.type.a == Scalar::f32x3) seen[right_operand(config)].k = wgmma::split_columns(problem.k);
  return seen;
}

/// The part of a panel that a block copies at a time (stage.cuh).
TensorBox tensor_box(const Seen& seen, int block, int block_k, int sharers, const TypePair& type) {
  const int panel = wgmma::panel_elements(type);
  if (seen.k_major) return {seen.extent, seen.k, block / sharers, panel};
  return {seen.k, seen.extent, block_k / sharers, panel};
}

/// What a block copies of weights at a time: the codes of its rows of a K-step (copy.cuh).
TensorBox box_of_codes(const Problem& problem, const Geometry& g) {
  const WeightType type = problem.weights.type;
  TensorBox box{weight_block_rows(problem.n), weight_blocks_along_k(type, problem.k), g.block_n / kCodeBlockRows,
      g.block_k / weight_block_columns(type)};
  box.code_blocks = true;
  return box;
}

class Wgmma final : public Family {
 public:
  std::string_view name() const override { return "wgmma"; }
  std::string_view summary() const override {
    return "Hopper's tensor cores through PTX wgmma: tensor memory accelerator, warp specialisation, clusters, "
           "ping-pong";
  }

  bool supports(const KernelTarget& target) const override { return wgmma::supports(target); }
  std::vector<Parameter> parameters(const KernelTarget& target) const override { return wgmma::parameters(target); }
  std::vector<Rule> rules(const KernelTarget& target) const override { return wgmma::rules(target); }
  std::optional<Estimate> estimate(
      const Config& config, const KernelTarget& target, const Problem& problem) const override {
    return wgmma::estimate(config, target, as_multiplied(problem, tensor_core::widening(config)));
  }
  std::vector<Config> initial_configs(const KernelTarget& target, const Problem& problem) const override {
    return wgmma::initial_configs(target, problem);
  }

  std::optional<std::string> refusal(const Config& config, const Problem& asked) const override {
    if (auto reason = tensor_core::ends_in_byte(config.at("pack"), asked)) return reason;
    const Problem problem = as_multiplied(asked, tensor_core::widening(config));
    if (auto reason = tensor_core::misaligned(config, problem, kCopyBytes)) return reason;
    if (config.at("store_tma") == 1 && !wgmma::takes_boxes(problem))
      return "rows of C start or end beside multiples of 16 bytes: the tensor memory accelerator stores whole ones";
    if (auto reason = tensor_core::unpaired(config, problem)) return reason;
    if (has_weights(problem) && problem.k * std::int64_t(size_bytes(problem.type.a)) % 16 != 0)
      return fmt::format("K is {}: weights are multiplied by whole 16 bytes of A", problem.k);
    const Geometry g(config, problem.type, problem.signature());
    if (g.items(problem) * g.sharing_blocks() * config.at("split_k") > std::numeric_limits<int>::max())
      return "more tiles of C than a grid has blocks";
    return std::nullopt;
  }

  std::optional<std::string> dominated(const Config& config, const Problem& problem) const override;
  LaunchSequence launches(const Config& config, const Problem& problem) const override;

  std::string source(const Config& config, const KernelTarget& target) const override {
    const std::string instruction = wgmma::instruction_source(config, target);
    if (wgmma::scales_steps(target.type, target.signature()))
      return tensor_core::source_with_passes(
          config, target, "kernels/wgmma/scaled.cu", block_scale_constants(target) + instruction);
    return tensor_core::source_with_passes(config, target, "kernels/wgmma/wgmma.cu", instruction);
  }

  bool deterministic(const Config& config) const override { return tensor_core::deterministic(config); }
};

std::optional<std::string> Wgmma::dominated(const Config& config, const Problem& asked) const {
  const Problem problem = as_multiplied(asked, tensor_core::widening(config));
  const int must_pack = wgmma::must_pack(asked.type, asked.trans, config.at("swap") == 1) |
                        tensor_core::sub_bytes_to_pack(asked, tensor_core::widening(config));
  if (wgmma::has_few_columns(config) && problem.n > config.at("block_n"))
    return fmt::format("C has more than {} columns: wider tiles read A once for more of them", config.at("block_n"));
  const std::array align = tensor_core::operand_aligns(problem);
  const std::array k_major = {!problem.trans.a, problem.trans.b};
  if (problem.batch_mode == BatchMode::pointers) return std::nullopt;  // both are packed
  for (int operand = 0; operand < 2; ++operand) {
    const bool gated =
        operand == 1 && problem.epilogue.is_gated();  // of such columns rows must run along K, in whole steps of pairs
    const bool as_it_lies =
        gated ? k_major[operand] && problem.n % kPairedStep == 0 : k_major[operand] || size_bytes(problem.type.a) == 2;
    const bool must = (must_pack >> operand & 1) != 0;
    if (!must && (config.at("pack") >> operand & 1) != 0 && align[operand] >= kCopyBytes && as_it_lies)
      return fmt::format("rows of {} are aligned to 16 bytes: nothing to pack", "AB"[operand]);
  }
  return std::nullopt;
}

LaunchSequence Wgmma::launches(const Config& config, const Problem& asked) const {
  const bool sub_byte = is_sub_byte(asked.type.a);
  const Widening widening = tensor_core::widening(config);
  const Problem problem = as_multiplied(asked, widening);
  const Geometry g(config, problem.type, problem.signature());
  Launch gemm;
  gemm.grid.x = unsigned(g.items(problem) * g.sharing_blocks() * config.at("split_k"));
  gemm.block.x = unsigned(g.threads);
  gemm.dynamic_smem_bytes = std::size_t(g.smem_bytes);
  if (config.at("schedule") != wgmma::one_tile) gemm.resident_blocks_per_sm = g.min_blocks;
  gemm.cluster.x = unsigned(g.sharing_blocks() * tensor_core::cluster_k(config));
  const auto [a, b] = operands_as_seen(config, problem);
  gemm.boxes = {tensor_box(a, g.block_m, g.block_k, g.cluster_n, problem.type),
      tensor_box(b, g.block_n, g.block_k, g.cluster_m, problem.type)};
  if (problem.sparsity != Sparsity::dense) {  // stage.cuh
    TensorBox& sparse = problem.sparsity == Sparsity::b ? gemm.boxes->b : gemm.boxes->a;
    sparse.cols = std::min(sparse.cols, g.block_k / 2);
  }
  if (has_weights(problem)) gemm.boxes->b = box_of_codes(problem, g);
  tensor_core::pair_rows(gemm.boxes->b, config, problem);
  if (config.at("store_tma") == 1) {
    const int cols = kBoxRowBytes / int(size_bytes(problem.type.output));
    gemm.boxes->d = TensorBox{problem.m, problem.d_cols(), kBoxRows, cols};
  }
  tensor_core::add_matrices(*gemm.boxes, problem);
  if (sub_byte) gemm.k = problem.k;
  tensor_core::PackedOperands packed = sub_byte ? tensor_core::packed_sub_bytes(asked, widening)
                                                : tensor_core::packed_operands(problem, a.k_major, b.k_major);
  if (problem.type.a == Scalar::f32x3)
    (right_operand(config) == 0 ? packed.a : packed.b).cols = wgmma::split_columns(problem.k);
  return tensor_core::with_passes(gemm, config, problem, packed, true);
}

}  // namespace

std::unique_ptr<Family> make_wgmma() { return std::make_unique<Wgmma>(); }

}  // namespace tilesmith
