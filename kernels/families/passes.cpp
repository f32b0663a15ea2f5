#include "kernels/families/passes.hpp"

#include <fmt/format.h>

#include <utility>

#include "kernels/families/render.hpp"
#include "kernels/shared/finish/paired_columns.cuh"
#include "kernels/shared/load/pass_layout.cuh"
#include "kernels/shared/multiply/sparse_layout.cuh"

namespace tilesmith::tensor_core {
namespace {

constexpr std::int64_t kPackedByBlock = kPackThreads * kPackChunks * kPackedChunkBytes;

std::int64_t blocks_for(std::int64_t items, std::int64_t of_block = kPassThreads) {
  return (items + of_block - 1) / of_block;
}

std::int64_t align_up(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }

/// Blocks of a launch that overlaps the one before take the SMs as these get free. Those that follow each other, and so
/// have operands in common, would then come far apart, and memory answers neighbours faster (docs/notes/measuring.md).
/// A persistent grid's blocks have many tiles, not all beside each other.
void place_neighbours(Launch& launch) {
  constexpr unsigned kPair = 2;
  const bool clusters = launch.cluster.x * launch.cluster.y * launch.cluster.z > 1;
  const bool persistent = launch.resident_blocks_per_sm > 0;
  if (launch.overlaps_previous && !clusters && !persistent && launch.grid.x % kPair == 0) launch.neighbours = kPair;
}

/// with_passes(), the operands that are packed given.
LaunchSequence sequence_of(
    Launch gemm, const Config& config, const Problem& problem, int pack, const PackedOperands& packed, bool overlap);

}  // namespace

int cluster_k(const Config& config) {
  const int split_k = config.at("split_k");
  if (config.at("reduction") != within_cluster) return 1;
  return split_k <= 8 ? split_k : 2;  // as in work.cuh
}

int partial_slices(const Config& config) {
  return config.at("reduction") == atomic ? 1 : config.at("split_k") / cluster_k(config);
}

bool has_passes(const Config& config) {
  return config.at("pack") != 0 || partial_slices(config) > 1 ||
         (config.at("split_k") > 1 && config.at("reduction") == atomic);
}

bool deterministic(const Config& config) { return config.at("split_k") == 1 || config.at("reduction") != atomic; }

std::array<int, 2> operand_aligns(const Problem& problem) { return {a_align_bytes(problem), b_align_bytes(problem)}; }

std::optional<std::string> misaligned(const Config& config, const Problem& problem, int copy_bytes) {
  const std::array align = operand_aligns(problem);
  for (int operand = 0; operand < 2; ++operand) {
    if ((config.at("pack") >> operand & 1) == 0 && align[operand] < copy_bytes) {
      return fmt::format(
          "rows of {} are aligned to {} bytes; copies take {} bytes", "AB"[operand], align[operand], copy_bytes);
    }
  }
  return std::nullopt;
}

PackedOperands packed_operands(const Problem& problem, bool a_k_major, bool b_k_major) {
  const int element = int(size_bytes(problem.type.a));
  const auto of = [&](std::int64_t rows, std::int64_t cols, bool turns) {
    if (!turns) return PackedOperand{rows, cols, blocks_for(packed_bytes(rows, cols, element), kPackedByBlock)};
    const std::int64_t tile = kTurnedTileBytes / element;
    return PackedOperand{cols, rows, blocks_for(rows, tile) * blocks_for(cols, tile)};
  };
  PackedOperands packed{of(problem.a_rows(), problem.a_cols(), a_k_major == problem.trans.a),
      of(problem.b_rows(), problem.b_cols(), b_k_major != problem.trans.b)};
  if (b_k_major) packed.b.rows = tiled_columns(problem);
  return packed;
}

std::int64_t tiled_columns(const Problem& problem) {
  return problem.epilogue.is_gated() ? std::int64_t(paired_columns(problem.n)) : problem.n;
}

Rule paired_columns_rule(
    const KernelTarget& target, bool (*b_k_major)(const Config&, Transposes), std::vector<std::string> reads) {
  return {"pairs of columns",
      "where two columns are gated the kernel reads B in rows along K, whose order is as it likes: as it lies, or since it is packed so",
      [gated = target.epilogue.is_gated(), trans = target.trans, b_k_major](
          const Config& c) { return !gated || b_k_major(c, trans); },
      std::move(reads)};
}

bool packs_pairs(const Config& config, const Problem& problem) {
  return problem.epilogue.is_gated() && (config.at("pack") & pack_b) != 0;
}

std::optional<std::string> unpaired(const Config& config, const Problem& problem) {
  if (!problem.epilogue.is_gated() || (config.at("pack") & pack_b) != 0 || problem.n / 2 % kPairedRun == 0)
    return std::nullopt;
  return fmt::format(
      "N is {}: the tensor memory accelerator brings gated columns by {} of either half, and B is not packed",
      problem.n, kPairedRun);
}

void pair_rows(TensorBox& box, const Config& config, const Problem& problem) {
  if (!problem.epilogue.is_gated() || packs_pairs(config, problem)) return;
  box.pairs =
      row_of(problem.epilogue.activation).gate == Gate::interleaved ? PairedRows::interleaved : PairedRows::split;
}

double matrices_of(const Problem& problem, OperandRole role) { return double(operand(problem, role).matrices()); }

double stored_bytes(const Problem& problem, OperandRole role) {
  const auto element = double(size_bytes(problem.type.a));
  if (problem.sparsity != (role == OperandRole::a ? Sparsity::a : Sparsity::b)) return element;
  return element / 2 + 0.5 / group_elements(int(size_bytes(problem.type.a)));
}

void add_matrices(TensorBoxes& boxes, const Problem& problem) {
  if (problem.batch_mode == BatchMode::single) return;
  boxes.a.matrices = operand(problem, OperandRole::a).matrices();
  boxes.b.matrices = operand(problem, OperandRole::b).matrices();
  if (boxes.d) boxes.d->matrices = problem.entries();
}

std::string source_with_passes(const Config& config, const KernelTarget& target, const std::string& template_path,
    const std::string& definitions) {
  std::string source = render_source(config, target, template_path, definitions);
  if (target.batch_mode != BatchMode::grouped) source += "#include \"kernels/shared/load/passes.cuh\"\n";
  return source;
}

LaunchSequence with_passes(
    Launch gemm, const Config& config, const Problem& problem, const PackedOperands& packed, bool overlap) {
  return sequence_of(std::move(gemm), config, problem, config.at("pack"), packed, overlap);
}

LaunchSequence with_passes(Launch gemm, const Config& config, const Problem& problem, bool overlap) {
  return sequence_of(std::move(gemm), config, problem, 0, {}, overlap);
}

namespace {

LaunchSequence sequence_of(
    Launch gemm, const Config& config, const Problem& problem, int pack, const PackedOperands& packed, bool overlap) {
  const int split_k = config.at("split_k"), reduction = config.at("reduction");
  const int element = int(size_bytes(problem.type.a));
  LaunchSequence sequence;
  take_strides(gemm, problem);
  const Launch callers = gemm;

  const auto pass = [&](std::string entry, std::int64_t blocks, int threads = kPassThreads) {
    Launch launch;
    launch.entry = std::move(entry);
    launch.grid = {unsigned(blocks), 1, 1};
    add_entries(launch.grid, problem.batch_mode == BatchMode::grouped && (pack & pack_b) == 0 ? 1 : problem.batch);
    launch.block = {unsigned(threads), 1, 1};
    launch.a = callers.a;
    launch.b = callers.b;
    launch.d = callers.d;
    return launch;
  };

  if (pack != 0) {
    std::int64_t bytes = 0, blocks = 0;
    const auto place = [&](OperandSource& source, const PackedOperand& copy) {
      const std::int64_t bytes_of_entry = packed_bytes(copy.rows, copy.cols, element);
      const bool apart = source.entry_stride != 0;
      source = {true, std::size_t(bytes), packed_row_stride(copy.cols, element), apart ? bytes_of_entry / element : 0};
      bytes += (apart ? problem.batch : 1) * bytes_of_entry;
      blocks += copy.blocks;
    };
    if ((pack & pack_a) != 0) place(gemm.a, packed.a);
    if ((pack & pack_b) != 0) place(gemm.b, packed.b);
    sequence.workspace_bytes = std::size_t(align_up(bytes));
    if (problem.k > 0) sequence.launches.push_back(pass("pack", blocks, kPackThreads));
  }
  if (split_k > 1 && reduction == atomic)
    sequence.launches.push_back(pass("scale_c", blocks_for(problem.m * problem.n)));
  sequence.launches.push_back(gemm);
  if (partial_slices(config) > 1) {
    sequence.workspace_bytes =
        std::size_t(problem.entries() * partial_slices(config) * problem.m * partial_stride(tiled_columns(problem))) *
        size_bytes(problem.type.accumulator);
    const std::int64_t runs = problem.m * ((problem.n + kSumColumns - 1) / kSumColumns);
    const bool gated = problem.epilogue.is_gated();  // a thread has an element of D
    sequence.launches.push_back(
        pass("sum_slices", gated ? blocks_for(problem.m * problem.d_cols())
                                 : blocks_for(runs, kPassThreads / sum_groups(partial_slices(config)))));
  }
  if (overlap) {
    for (std::size_t i = 1; i < sequence.launches.size(); ++i) sequence.launches[i].overlaps_previous = true;
  }
  sequence.launches.front().overlaps_previous = config.at("early_launch") == 1;
  for (Launch& launch : sequence.launches) {
    if (launch.entry == gemm.entry) place_neighbours(launch);
  }
  return sequence;
}

}  // namespace

}  // namespace tilesmith::tensor_core
