#include "kernels/wgmma/wgmma.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/families/shared_rules.hpp"
#include "kernels/problem/weights.hpp"

namespace tilesmith::wgmma {
namespace {

// Of an SM and clock cycle. Products and shared memory from the H100's data sheet; what follows is fitted to times of an
// H200 (docs/notes/model.md).
constexpr double kProducts16 = 2048;  // multiply-adds of 16-bit operands
constexpr double kSharedBytes = 128;
constexpr double kL2Bytes = 78;
constexpr double kOffLines = 1.5;  // for rows that do not begin at lines of the L2, which take more requests
constexpr double kDramBytes = 17.5;
constexpr double kStoreBytes = 19;      // of results
constexpr double kBoxStoreBytes = 30;   // by the accelerator: of small tiles less than straight from the warps
constexpr double kWorkspaceBytes = 16;  // written and read again

constexpr double kFirstStep = 2000;       // from a block's start until it multiplies, beside its first stage's bytes
constexpr double kMemoryLatency = 2300;   // of a copy
constexpr double kStepOverhead = 50;      // of one warpgroup: barriers, and the pipe's fill
constexpr double kPromotion = 100;        // of one warpgroup: the wait for its products, beside an FADD or FMA a sum
constexpr double kLeastScaledStep = 720;  // with scales of blocks
constexpr double kCopiedStep = 20;        // of a step that memory keeps waiting: its barriers and copies
constexpr double kHiddenByStep = 200;     // of an epilogue, by each step that two groups are apart (at most its half)
constexpr double kClusterSync = 1700;     // where blocks add sums
constexpr double kAgainBytes = 70;        // of what other blocks read, too
constexpr double kSlabK = 16;             // columns of K whose codes become numbers at a time, of 64 rows a warpgroup
constexpr double kSlabCycles = 10;
constexpr double kIssuedInstruction = 2.8, kWaitedInstruction = 3.7;  // cycles of each, for 8 codes a lane
constexpr double kConvertedStep = 110;                                // of a warpgroup, beside: scales, and waits
constexpr double kClusterStart = 450;                                 // where they share operands

/// What codes take to become numbers, cycles of a step.
struct Conversion {
  double issued = 0;  ///< of all warpgroups, whose instructions share the SM's schedulers
  double serial = 0;  ///< of one, whose products wait for its numbers
};

Conversion conversion(const KernelTarget& target, const Geometry& g, double products) {
  if (!has_weights(target)) return {};
  const int of_scales = size_bytes(target.type.a) == 1 ? 0 : target.weights.zeros ? 8 : 4;
  const double instructions = instructions_of_numbers(target) + of_scales;
  const double slabs = double(g.left_tiles) * g.block_k / kSlabK;
  const double alone = slabs * (kSlabCycles + kWaitedInstruction * instructions), of_group = products / g.tile_groups;
  return {slabs * g.tile_groups * (kSlabCycles + kIssuedInstruction * instructions),
      std::max(of_group, alone) + std::min(of_group, alone) / 2 + kConvertedStep};
}

/// Bytes of the L2 that a block's tile of an operand takes in a step; shared by the blocks of a cluster.
double copied_bytes(int extent, int copied, const Geometry& g, bool packed, std::int64_t row_stride,
    const TypePair& type, int sharers) {
  const int element = int(size_bytes(type.a));
  const bool at_lines = (packed || row_stride * element % 128 == 0) && copied == extent;
  return double(copied) * g.block_k * element / sharers * (at_lines ? 1 : kOffLines);
}

/// Columns (swapped: rows) that the busiest of these clusters multiplies a round, on the mean: it ends last. Of so many
/// tiles that a cluster has dozens, all clusters' mean.
double dealt_a_round(const EvenTiles& tiles, int width, unsigned clusters, double mean) {
  constexpr unsigned kMostCounted = 4096;
  const int narrow = width - kEvenStep;
  const unsigned count = tiles.count();
  if (count > kMostCounted) return std::clamp(mean, double(narrow), double(width));
  std::vector<int> columns(clusters);
  for (unsigned i = 0; i < count; ++i) {
    const EvenTile tile = tiles.at(i);
    columns[i % clusters] += tile.last - tile.first <= narrow ? narrow : width;
  }
  return *std::max_element(columns.begin(), columns.end()) / double((count - 1) / clusters + 1);
}

}  // namespace

Estimate estimate(const Config& config, const KernelTarget& target, const Problem& asked) {
  const Problem problem = evenly_split(asked);
  Estimate made;
  const Geometry g(config, target.type, target.signature());
  const double element = double(size_bytes(target.type.a)), output = double(size_bytes(target.type.output));
  const double accumulator = double(size_bytes(target.type.accumulator));
  const double sms = std::max(1, target.limits.sm_count) * share_of_sms(g.sharing_blocks() * cluster_k(config));
  const int split_k = config.at("split_k"), reduction = config.at("reduction"), groups = config.at("warpgroups");
  const bool ping_pongs = config.at("schedule") == ping_pong;

  double items = double(g.items(problem)) * g.sharing_blocks() * split_k, dealt = g.right_extent;
  if (config.at("even") == 1 && items > sms) {
    const unsigned clusters = std::max(1U, unsigned(sms) / unsigned(g.sharing_blocks()));
    const EvenTiles tiles = g.even_tiles(problem, config.at("group_m"), clusters);
    items = double(tiles.count()) * g.sharing_blocks();
    const std::int64_t across = g.swap ? problem.n : problem.m;
    const double mean = double((across - 1) / g.left_extent + 1) * double(g.swap ? problem.m : problem.n) / items;
    dealt = dealt_a_round(tiles, g.right_extent, clusters, mean);
  }
  const double resident = std::min(double(g.min_blocks), std::ceil(items / sms));  // blocks of an SM

  // A step of one block. Each instruction reads 64 rows of the left operand and all of the right one.
  const bool is_split = target.type.a == Scalar::f32x3;
  const bool sparse = target.sparsity != Sparsity::dense, weighted = has_weights(target);
  const double of_weights = weighted ? double(size_bits(weight_element(target.weights.type))) / 16
                                     : 1;  // of B's bytes, as numbers of A's type
  const double share_a = stored_bytes(problem, OperandRole::a) / element,
               share_b = of_weights * stored_bytes(problem, OperandRole::b) / element;
  const double products = double(g.left_extent) * dealt * g.block_k / (kProducts16 * 2 / element) *
                          (is_split    ? 3
                              : sparse ? 0.5
                                       : 1);
  const double of_left = sparse ? 0.5 : of_weights;
  const double read = double(g.left_tiles * g.tile_groups) *
                      (64 * of_left * g.instructions + dealt * (is_split ? 3 : 1)) * g.block_k * element;
  const double copied =
      copied_bytes(g.block_m, g.copied_m, g, (config.at("pack") & pack_a) != 0, problem.lda, target.type, g.cluster_n) *
          g.copies_m * share_a +
      copied_bytes(g.block_n, g.copied_n, g, (config.at("pack") & pack_b) != 0, problem.ldb, target.type, g.cluster_m) *
          g.copies_n * share_b;
  const Conversion converted = conversion(target, g, products);
  const double made_and_multiplied =
      std::hypot(products, converted.issued) + (weighted ? kConvertedStep * g.tile_groups : 0);
  const double busy = std::max({made_and_multiplied, (read + double(g.stage_bytes)) / kSharedBytes, copied / kL2Bytes});
  const bool by_block = target.epilogue.has_block_scales();
  const double promotion = is_split || scales_steps(target.type, target.signature())
                               ? (kPromotion + double(g.sum_registers)) / (is_split ? config.at("promote") : 1)
                               : 0;
  const double overhead = (kStepOverhead + promotion) / (ping_pongs ? 2 : groups);
  const double alone = std::max({busy + overhead, converted.serial + overhead,
      kMemoryLatency / (config.at("stages") - 1), by_block ? kLeastScaledStep : 0});

  const std::int64_t all_steps = (problem.k + g.block_k - 1) / g.block_k;
  const double steps = double((all_steps + split_k - 1) / split_k);
  const double sums_of_block = double(g.left_extent) * dealt;
  const double start = kFirstStep + (g.sharing_blocks() > 1 ? kClusterStart : 0);
  const double first = start + double(g.stage_bytes) / kL2Bytes;
  const double store_bytes = config.at("store_tma") == 1 ? kBoxStoreBytes : kStoreBytes;
  // 8 neighbours of a row of C (swapped_store.cuh), which of 16-bit results are half a sector of the L2.
  const bool half_sectors = g.swap && config.at("store_tma") == 0 && cluster_k(config) == 1 && output < 4 &&
                            !left_from_registers(config, target.type, target.trans);
  const double stored = sums_of_block * output / store_bytes * (half_sectors ? 2 : 1);
  const double epilogue = stored - std::min(stored / 2, kHiddenByStep * config.at("stagger"));
  const auto wave = [&](double blocks) { return first + steps * std::max(alone, blocks * busy) + blocks * epilogue; };
  const double full_waves = std::floor(items / (sms * resident));
  const double rest = items - full_waves * sms * resident;
  double cycles = full_waves * wave(resident) + (rest > 0 ? wave(std::ceil(rest / sms)) : 0);
  const double waves = full_waves + (rest > 0 ? 1 : 0);
  if (config.at("schedule") != one_tile && waves > 1) cycles -= (waves - 1) * (first + (ping_pongs ? epilogue : 0));

  made.blocks = items;
  made.sms = sms;
  made.resident = resident;
  made.waves = items / (sms * resident);
  made.room_by_shared_memory = blocks_by_shared_memory(g.smem_bytes, target.limits);
  made.room_by_threads = std::min(target.limits.threads_per_sm / g.threads, target.limits.blocks_per_sm);
  made.compiled_for = g.min_blocks;
  const double blocks_in_turn = full_waves * resident + (rest > 0 ? std::ceil(rest / sms) : 0);
  made.multiplying = blocks_in_turn * steps * products;
  made.shared_memory = blocks_in_turn * steps * (read + double(g.stage_bytes)) / kSharedBytes;
  made.l2 = blocks_in_turn * steps * copied / kL2Bytes;
  made.latency = waves * (first + steps * kMemoryLatency / (config.at("stages") - 1));
  made.storing = blocks_in_turn * epilogue;

  const double sums = double(problem.m) * double(problem.n) * double(problem.batch);
  const double rows_of_a = matrices_of(problem, OperandRole::a) * double(problem.m);
  const double columns_of_b = matrices_of(problem, OperandRole::b) * double(problem.n);
  const double operand_bytes =
      (rows_of_a * g.copies_m * share_a + columns_of_b * g.copies_n * share_b) * double(problem.k) * element;
  made.dram = (operand_bytes + sums * (problem.epilogue.is_gated() ? 0.5 : 1.0) * output) / (kDramBytes * sms);
  // What several blocks read comes from the L2 but once.
  const double again = std::max(0.0, items * steps * copied - operand_bytes) / (kAgainBytes * sms);
  cycles = std::max(cycles, start + steps * kCopiedStep + made.dram + again);

  const double without_passes = cycles;
  if (cluster_k(config) > 1) cycles += kClusterSync + sums_of_block * accumulator / kStoreBytes;
  if (partial_slices(config) > 1)
    cycles += next_launch_cycles(true) + 2 * partial_slices(config) * sums * accumulator / (kWorkspaceBytes * sms);
  if (split_k > 1 && reduction == atomic)
    cycles += next_launch_cycles(true) + 2 * split_k * sums * output / (kWorkspaceBytes * sms);
  const double taken = widening(config) != Widening::none ? 0.5 : 1;  // of each byte that is written
  const double packed_bytes =
      ((config.at("pack") & pack_a) != 0 ? rows_of_a * (taken + g.copies_m) * double(problem.k) * element : 0) +
      ((config.at("pack") & pack_b) != 0 ? columns_of_b * (taken + g.copies_n) * double(problem.k) * element : 0);
  if (packed_bytes > 0) cycles += next_launch_cycles(true) + packed_bytes / (kDramBytes * sms);
  made.cycles = first_launch_cycles(config) + cycles;
  made.passes = made.cycles - without_passes;
  return made;
}

}  // namespace tilesmith::wgmma
