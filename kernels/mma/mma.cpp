#include "kernels/mma/mma.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "kernels/mma/geometry.hpp"
#include "kernels/mma/packed_rows.cuh"
#include "kernels/mma/rules.hpp"
#include "kernels/mma/seeds.hpp"
#include "kernels/render.hpp"

namespace tilesmith {
namespace {

using mma::Geometry;

constexpr unsigned kPassThreads = 128;  // of a block in every pass but the GEMM: reduce.cuh, pack.cuh

constexpr std::int64_t kPackedByBlock = kPassThreads * 4 * 16;  // bytes: pack.cuh

std::int64_t blocks_for(std::int64_t items, std::int64_t of_block = kPassThreads) {
  return (items + of_block - 1) / of_block;
}

std::int64_t align_up(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }

/// The panels of tile.cuh, as the boxes in which tensor_copy.cuh copies them.
TensorBoxes tensor_boxes(const Geometry& g, const Problem& problem) {
  const int element = int(size_bytes(problem.type.operand));
  const auto box = [&](int tile_rows, int tile_cols) {
    const int panel_row_bytes = tile_cols * element % 128 == 0 ? 128 : 64;
    return TensorBox{tile_rows, std::min(tile_cols, panel_row_bytes / element)};
  };
  return {problem.trans.a ? box(g.block_k, g.block_m) : box(g.block_m, g.block_k),
          problem.trans.b ? box(g.block_n, g.block_k) : box(g.block_k, g.block_n)};
}

/// How far the rows of A and of B are aligned, bytes.
std::array<int, 2> operand_aligns(const Problem& problem) {
  return {row_align_bytes(problem, problem.type.operand, problem.lda),
          row_align_bytes(problem, problem.type.operand, problem.ldb)};
}

/// As partial_stride() in destination.cuh.
std::int64_t partial_stride(std::int64_t n) { return (n + 7) / 8 * 8; }

class Mma final : public Family {
 public:
  std::string_view name() const override { return "mma"; }
  std::string_view summary() const override {
    return "tensor cores through PTX mma.sync: swizzled multistage pipelines, split K, packing, persistent grids";
  }

  bool supports(const KernelTarget& target) const override { return mma::supports(target); }
  std::vector<Parameter> parameters(const KernelTarget& target) const override { return mma::parameters(target); }
  std::vector<Rule> rules(const KernelTarget& target) const override { return mma::rules(target); }
  std::vector<Config> seeds(const KernelTarget& target, const Problem& problem) const override {
    return mma::seeds(target, problem);
  }

  std::optional<std::string> refusal(const Config& config, const Problem& problem) const override;
  std::optional<std::string> dominated(const Config& config, const Problem& problem) const override;
  LaunchSequence launches(const Config& config, const Problem& problem) const override;

  std::string source(const Config& config, const KernelTarget& target) const override {
    return render_source(config, target, "kernels/mma/mma.cu");
  }

  bool deterministic(const Config& config) const override {
    return config.at("split_k") == 1 || config.at("reduction") != mma::atomic;
  }
};

std::optional<std::string> Mma::refusal(const Config& config, const Problem& problem) const {
  const int copy = config.at("copy_bytes"), pack = config.at("pack");
  const std::array align = operand_aligns(problem);
  for (int operand = 0; operand < 2; ++operand) {
    if ((pack >> operand & 1) == 0 && align[operand] < copy) {
      return fmt::format("rows of {} are aligned to {} bytes; copies take {} bytes", "AB"[operand], align[operand],
                         copy);
    }
  }
  const Geometry geometry(config, problem.type);
  if (geometry.tiles(problem) * config.at("split_k") > std::numeric_limits<int>::max())
    return "more tiles of C than a grid has blocks";
  return std::nullopt;
}

std::optional<std::string> Mma::dominated(const Config& config, const Problem& problem) const {
  const int copy = config.at("copy_bytes"), pack = config.at("pack");
  const std::array align = operand_aligns(problem);
  for (int operand = 0; operand < 2; ++operand) {
    if ((pack >> operand & 1) != 0 && align[operand] >= 16) {
      return fmt::format("rows of {} are aligned to 16 bytes: nothing to pack", "AB"[operand]);
    }
  }
  if (pack == 0 && copy < std::min({align[0], align[1], 16})) {
    return fmt::format("rows are aligned to {} bytes: copies of {} are the same kernel with more instructions",
                       std::min(align[0], align[1]), copy);
  }
  return std::nullopt;
}

LaunchSequence Mma::launches(const Config& config, const Problem& problem) const {
  const Geometry geometry(config, problem.type);
  const int split_k = config.at("split_k"), reduction = config.at("reduction"), pack = config.at("pack");
  const int element = int(size_bytes(problem.type.operand));
  LaunchSequence sequence;

  Launch gemm;
  gemm.grid.x = unsigned(geometry.tiles(problem) * split_k);
  gemm.block.x = unsigned(geometry.threads);
  gemm.dynamic_smem_bytes = std::size_t(geometry.smem_bytes);
  if (config.at("persistent") == 1) gemm.resident_blocks_per_sm = config.at("min_blocks");
  gemm.cluster.x = unsigned(mma::cluster_k(config));
  gemm.a.row_stride = problem.lda;
  gemm.b.row_stride = problem.ldb;
  gemm.c.row_stride = problem.ldc;
  const Launch callers = gemm;

  const auto pass = [&](std::string entry, std::int64_t blocks) {
    Launch launch = callers;
    launch.entry = std::move(entry);
    launch.grid = {unsigned(blocks), 1, 1};
    launch.block = {kPassThreads, 1, 1};
    launch.cluster = {};
    launch.dynamic_smem_bytes = 0;
    launch.resident_blocks_per_sm = 0;
    return launch;
  };
  if (config.at("tma") == 1) gemm.boxes = tensor_boxes(geometry, problem);

  if (pack != 0) {
    std::int64_t bytes = 0, blocks = 0;
    const auto place = [&](OperandSource& source, std::int64_t rows, std::int64_t cols) {
      source = {true, std::size_t(bytes), packed_row_stride(cols, element)};
      const std::int64_t packed = packed_bytes(rows, cols, element);
      bytes += packed;
      blocks += blocks_for(packed, kPackedByBlock);
    };
    if ((pack & mma::pack_a) != 0) place(gemm.a, problem.a_rows(), problem.a_cols());
    if ((pack & mma::pack_b) != 0) place(gemm.b, problem.b_rows(), problem.b_cols());
    sequence.workspace_bytes = std::size_t(align_up(bytes));
    if (blocks > 0) sequence.launches.push_back(pass("pack", blocks));  // K = 0: there is nothing to pack
  }
  if (split_k > 1 && reduction == mma::atomic)
    sequence.launches.push_back(pass("scale_c", blocks_for(problem.m * problem.n)));
  sequence.launches.push_back(gemm);
  if (mma::partial_slices(config) > 1) {
    sequence.workspace_bytes = std::size_t(mma::partial_slices(config) * problem.m * partial_stride(problem.n)) *
                               size_bytes(problem.type.accumulator);
    sequence.launches.push_back(pass("sum_slices", blocks_for(problem.m * ((problem.n + 3) / 4))));
  }
  if (config.at("overlap") == 1) {
    for (std::size_t i = 1; i < sequence.launches.size(); ++i) sequence.launches[i].overlaps_previous = true;
  }
  return sequence;
}

}  // namespace

std::unique_ptr<Family> make_mma() { return std::make_unique<Mma>(); }

}  // namespace tilesmith
