#include "kernels/mma/mma.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numeric>

#include "kernels/families/shared_rules.hpp"

namespace tilesmith::mma {
namespace {

// Fitted to times of an H200 (docs/notes/model.md), but for what names its own measurement.
constexpr double kSharedBytes = 128;     // of an SM and cycle
constexpr double kSharedBytesF64 = 192;  // lanes of a load share most of them
constexpr double kBlockSync = 100;       // all threads wait for each other
constexpr double kClusterSync = 1000;    // and sums stored to other blocks' shared memory
constexpr double kFirstStep = 1800;      // from a block's start until it multiplies
constexpr double kTensorMap = 450;       // more where the accelerator copies: 512³ takes 0.3 to 0.5 µs longer
constexpr double kMemoryLatency = 1400;  // of a copy: 16×4096×4096 with 2 and 3 stages
constexpr double kStepOverhead = 50;     // the barrier, and what follows it
constexpr double kSlabLatency = 40;      // fragment loads that nothing hides
constexpr double kWordLoads = 1.7;       // of bytes that come a word a load: tf32f32 NN 4096³ beside TT
constexpr double kCopyCycles = 4;        // a warp's copy instruction
constexpr double kSkewedCopies = 6;      // times as much, where a chunk's place and its row's end are worked out
constexpr double kNarrowCopies = 1.2;    // of f64 one by one
constexpr double kSlowedByCopies = 1.1;  // warps that copy as well as multiply
constexpr double kStoreBytes = 18;       // of an SM and cycle, of sums
constexpr double kStoreBytesF64 = 36;
constexpr double kNarrowStores = 2.5;     // times as long, straight from registers by less than 4 bytes: 500×65³
constexpr double kNarrowStoresF64 = 2;    // not in pairs
constexpr double kWorkspaceBytes = 12.5;  // of an SM and cycle, written and read again
constexpr double kAgainBytes = 80;        // of an SM and cycle, of what other blocks read, too
constexpr double kLineBytes = 128;        // of the L2
constexpr double kReadAgain = 0.2;   // of each piece of a line beyond the first: 16×4096×4096 with pieces of 32, 64
constexpr int kOtherRegisters = 40;  // of a thread, beside sums and fragments
constexpr int kFusedRegisters =
    24;  // more with an epilogue, for batches and where B lies along K: warps of 64×64 then spill 8 or 16 bytes on sm_87
constexpr double kSpilled = 1.3;  // a guess: the tuner refuses what spills, so that anything else comes before it

constexpr double kScaledSums = 40;  // of an SM and cycle, with scales of blocks: three instructions each, of 128 lanes

constexpr double kXorByAnd = 3;  // Hopper counts XOR by two products of AND and 14 other instructions

/// Of operands below a byte these are bytes: int4 is begun at twice the rate of int8, bits at eight times.
double products_per_cycle(const DeviceLimits::Rates& rates, const TypePair& type) {
  switch (size_bytes(type.a)) {
    case 1: return 2 * rates.products;
    case 2: return rates.products;
    case 4: return rates.products / (type.a == Scalar::f32x3 ? 8 : 2);  // three products, and operands that are split
    default: return rates.products_f64;
  }
}

/// The share of the four schedulers' time in which a block's warps keep them busy. With six warps, two schedulers have
/// two warps each, and the others wait for them.
double evenly_scheduled(const Config& config) {
  const int warps =
      config.at("block_m") / config.at("warp_m") * (config.at("block_n") / config.at("warp_n")) * config.at("slice_k");
  return warps <= 4 ? 1 : warps / 4.0 / std::ceil(warps / 4.0);
}

/// What takes these times beside each other. The longest hides the others the better, the higher the norm.
double beside(double norm, std::initializer_list<double> times) {
  double sum = 0;
  for (const double time : times) sum += std::pow(time, norm);
  return std::pow(sum, 1 / norm);
}

/// Of the products' rate, what so many warps on an SM reach: each of its four schedulers needs some to choose from.
double share_of_rate(const KernelTarget& target, int warps, const Config& config) {
  const double schedulers = std::min(warps, 4) / 4.0;
  if (size_bytes(target.type.a) == 8) {  // its instructions take so long that one warp suffices
    const int inst_k = config.at("inst_k");
    const double of_instruction = inst_k == 16 ? 0.8 : inst_k == 4 && target.limits.features.wide_f64 ? 0.45 : 1;
    const double of_buffers = inst_k != 16 && config.at("frag_buffers") == 1 ? 0.8 : 1;
    return schedulers * of_instruction * of_buffers * evenly_scheduled(config);
  }
  if (warps <= 4) return 0.75 * schedulers;
  return warps <= 12 ? 0.8 : 1;
}

/// What as many products take at least: no mix of warps begins more in a cycle. Known of Orins, whose rate below is
/// above it, since the terms beside it count, too: together they come to what was measured. Hopper's mma.sync does not
/// reach what its tensor cores could begin.
double issue_cycles(double cycles_at_rate, const DeviceLimits::Rates& rates, const TypePair& type) {
  return rates.issued > 0 && size_bytes(type.a) < 8 ? cycles_at_rate * rates.products / rates.issued : 0;
}

/// Seen of what NVRTC makes for sm_87; Hopper's compilers were not asked.
bool spills(const Geometry& g, const KernelTarget& target) {
  if (!target.limits.features.fused_mma_spills || target.epilogue.is_linear() ||
      (target.batch_mode == BatchMode::single && !target.trans.b))
    return false;
  const int registers =
      g.accumulator_registers + g.fragment_registers + g.split_registers + kOtherRegisters + kFusedRegisters;
  return registers > target.limits.registers_per_thread;
}

void count_room(Estimate& made, const Geometry& g, const DeviceLimits& limits) {
  const int registers =
      (g.accumulator_registers + g.fragment_registers + g.split_registers + kOtherRegisters) * g.threads;
  made.room_by_shared_memory = blocks_by_shared_memory(g.smem_bytes, limits);
  made.room_by_registers = limits.registers_per_sm / registers;
  made.room_by_threads = std::min(limits.threads_per_sm / g.threads, limits.blocks_per_sm);
  made.compiled_for = g.min_blocks;
}

/// Blocks that an SM has room for: often more than min_blocks, where there are so many.
int blocks_that_fit(const Config& config, const Estimate& made) {
  if (config.at("persistent") == 1) return made.compiled_for;
  const int fit = std::min({made.room_by_shared_memory, made.room_by_registers, made.room_by_threads});
  return std::max(fit, made.compiled_for);
}

/// What the L2 reads of an operand for each byte that blocks copy in such pieces of its rows: whole lines, of which a
/// piece touches one more the less its start is aligned. Packed rows start with a line.
double read_for_each_byte(double piece_bytes, double row_bytes, bool packed) {
  if (packed) return 1;
  const auto line = std::int64_t(kLineBytes);
  const std::int64_t aligned = std::gcd(std::gcd(std::int64_t(row_bytes), std::int64_t(piece_bytes)), line);
  return 1 + double(line - aligned) / piece_bytes;
}

/// What an operand costs of DRAM's rate, bytes, when blocks copy its rows in such pieces.
double dram_bytes(double bytes, double piece_bytes) {
  return bytes * (1 + kReadAgain * (std::max(kLineBytes / piece_bytes, 1.0) - 1));
}

}  // namespace

Estimate estimate(const Config& config, const KernelTarget& target, const Problem& asked) {
  const Problem problem = evenly_split(asked);
  Estimate made;
  const Geometry g(config, target);
  const DeviceLimits::Rates& rates = target.limits.rates;
  const double element = double(size_bytes(target.type.a)), output = double(size_bytes(target.type.output));
  const double accumulator = double(size_bytes(target.type.accumulator));
  const double sms = std::max(1, target.limits.sm_count) * share_of_sms(cluster_k(config));
  const int split_k = config.at("split_k"), reduction = config.at("reduction");
  const bool tma = config.at("tma") == 1;
  const double next_launch = next_launch_cycles(config.at("overlap") == 1);

  // Blocks that come while operands are still packed crowd on the SMs that are free then: as many as fit.
  const bool crowds = config.at("pack") != 0 && config.at("overlap") == 1;
  const double items = double(g.tiles(problem)) * split_k;
  const auto blocks_of_sm = [&](double blocks) { return crowds ? blocks : std::ceil(blocks / sms); };
  count_room(made, g, target.limits);
  const double resident = std::min(double(blocks_that_fit(config, made)), blocks_of_sm(items));
  const int warps = g.multiplying_threads / 32 * int(resident);

  // A step of one block, alone on its SM.
  const double step_bytes = double(g.stage_bytes);
  const bool swap = config.at("swap") == 1;
  const bool a_along_k = a_k_major(config, target.trans), b_along_k = b_k_major(config, target.trans);
  // Of the right operand.
  const bool word_loads =
      (target.type.a == Scalar::tf32 || target.type.a == Scalar::f32x3) && !(swap ? a_along_k : b_along_k);
  const int left = config.at(swap ? "warp_n" : "warp_m"), right = config.at(swap ? "warp_m" : "warp_n");
  const bool sparse =
      target.sparsity != Sparsity::dense;  // whose left operand has half its elements, and half the products
  const bool has_skew = skewed(config);
  const double fragment_bytes = double(g.warps_m * g.warps_n) *
                                (left * (sparse ? 0.5 : 1) + right * (word_loads ? kWordLoads : 1)) * g.block_k *
                                (has_skew ? 4 : element);  // an element a load, which could bring a word
  const double emulated = target.type.a == Scalar::b1xor && !target.limits.features.xor_products ? kXorByAnd : 1;
  const double products = double(g.block_m) * g.block_n * g.block_k / products_per_cycle(rates, target.type) *
                          emulated * (sparse ? 0.5 : 1);
  const bool is_f64 = element == 8;
  const double of_copy = kCopyCycles * (has_skew ? kSkewedCopies : 1);
  const double copies = tma ? 0 : step_bytes / chunk_bytes(config) / 32 * of_copy;
  const double copied_by_all = tma || is_f64 ? 1 : kSlowedByCopies;
  const double multiplying = std::max(
      copied_by_all * products / share_of_rate(target, warps, config), issue_cycles(products, rates, target.type));
  // None hides the others wholly: blocks' waits for one of them are gaps in the use of the next. An f64 product takes so
  // long that little else is waited for.
  const double a_piece = (a_along_k ? g.block_k : g.block_m) * element,
               b_piece = (b_along_k ? g.block_k : g.block_n) * element;
  const double read_of_a =
                   read_for_each_byte(a_piece, double(problem.lda) * element, (config.at("pack") & pack_a) != 0),
               read_of_b =
                   read_for_each_byte(b_piece, double(problem.ldb) * element, (config.at("pack") & pack_b) != 0);
  const double l2_bytes = step_bytes * (g.block_m * read_of_a + g.block_n * read_of_b) / (g.block_m + g.block_n);
  const double loading = (step_bytes + fragment_bytes) / (is_f64 ? kSharedBytesF64 : kSharedBytes);
  const double scaling =
      target.epilogue.has_block_scales() ? double(g.block_m) * g.block_n * config.at("slice_k") / kScaledSums : 0;
  double busy = beside(is_f64 ? 4 : 2, {multiplying, copies, l2_bytes / rates.l2_bytes, loading, scaling});
  if (is_f64 && config.at("copy_bytes") < 16) busy *= kNarrowCopies;
  if (spills(g, target)) busy *= kSpilled;
  const double slab_latency = config.at("frag_buffers") == 1 ? kSlabLatency : kSlabLatency / 2;
  const double alone = std::max(
      {busy + kStepOverhead, kMemoryLatency / (config.at("stages") - 1), g.slabs * slab_latency + kStepOverhead});

  // Waves of blocks; several on an SM hide each other's waits, and share what is busy.
  const std::int64_t all_steps = (problem.k + g.block_k - 1) / g.block_k;
  const double steps = double((all_steps + split_k - 1) / split_k);
  const double sums_of_block = double(g.block_m) * g.block_n;
  double epilogue = sums_of_block * output / (is_f64 ? kStoreBytesF64 : kStoreBytes);
  if (config.at("store_staged") == 0) {
    const double aligned = double(c_align_bytes(problem));
    if (std::min(2 * output, aligned) < 4) epilogue *= kNarrowStores;
    if (is_f64 && aligned < 2 * output) epilogue *= kNarrowStoresF64;
  }
  if (config.at("slice_k") > 1)
    epilogue += kBlockSync + 2 * config.at("slice_k") * sums_of_block * accumulator / kSharedBytes;
  const double first_step = kFirstStep + (tma && !crowds ? kTensorMap : 0);  // packing hides that wait
  const auto wave = [&](double blocks) {
    return first_step + steps * std::max(alone, blocks * busy) + blocks * epilogue;
  };
  const double full_waves = std::floor(items / (sms * resident));
  const double rest = items - full_waves * sms * resident;
  double cycles = full_waves * wave(resident) + (rest > 0 ? wave(std::min(resident, blocks_of_sm(rest))) : 0);
  if (config.at("persistent") == 1 && full_waves > 1) cycles -= (full_waves - 1) * (first_step + epilogue / 2);

  made.blocks = items;
  made.sms = sms;
  made.resident = resident;
  made.waves = items / (sms * resident);
  const double blocks_in_turn = full_waves * resident + (rest > 0 ? std::min(resident, blocks_of_sm(rest)) : 0);
  const double steps_in_turn = blocks_in_turn * steps;
  made.multiplying = steps_in_turn * multiplying;
  made.shared_memory = steps_in_turn * loading;
  made.l2 = steps_in_turn * l2_bytes / rates.l2_bytes;
  made.latency = std::ceil(made.waves) * (first_step + steps * kMemoryLatency / (config.at("stages") - 1));
  made.storing = blocks_in_turn * epilogue;

  const double sums = double(problem.m) * double(problem.n) * double(problem.batch);
  const double a_bytes = matrices_of(problem, OperandRole::a) * double(problem.m) * double(problem.k) *
                         stored_bytes(problem, OperandRole::a);
  const double b_bytes = matrices_of(problem, OperandRole::b) * double(problem.n) * double(problem.k) *
                         stored_bytes(problem, OperandRole::b);
  const double read = dram_bytes(a_bytes, a_piece) + dram_bytes(b_bytes, b_piece);
  made.dram = (read + sums * (problem.epilogue.is_gated() ? 0.5 : 1.0) * output) / (rates.dram_bytes * sms);
  // What several blocks read comes from the L2 but once.
  const double again = std::max(0.0, items * steps * step_bytes - a_bytes - b_bytes) / (kAgainBytes * sms);
  cycles = std::max(std::hypot(cycles, made.dram), first_step + made.dram + again);

  const double without_passes = cycles;
  if (cluster_k(config) > 1) cycles += kClusterSync + sums_of_block * accumulator / kStoreBytes;
  if (partial_slices(config) > 1)
    cycles += next_launch + 2 * partial_slices(config) * sums * accumulator / (kWorkspaceBytes * sms);
  if (split_k > 1 && reduction == atomic) cycles += next_launch + 2 * split_k * sums * output / (kWorkspaceBytes * sms);
  const double packed_bytes =
      ((config.at("pack") & pack_a) != 0 ? a_bytes : 0) + ((config.at("pack") & pack_b) != 0 ? b_bytes : 0);
  if (packed_bytes > 0)
    cycles += next_launch + (widening(config) == Widening::bytes ? 1.5 : 2) * packed_bytes / (rates.dram_bytes * sms);
  made.cycles = first_launch_cycles(config) + cycles;
  made.passes = made.cycles - without_passes;
  return made;
}

}  // namespace tilesmith::mma
