#include "kernels/dequant/dequant.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/families/shared_rules.hpp"
#include "kernels/problem/weights.hpp"

namespace tilesmith::dequant {
namespace {

// Fitted to times of an H200 (docs/notes/model.md).
constexpr double kClusterSync = 2700;
constexpr double kFirstStep = 1600;  // from a block's start until it multiplies
constexpr double kLookUp = 1200;     // of the group that a block has
constexpr double kMemoryLatency = 2500;
constexpr double kStepOverhead = 70;  // the barrier, and what follows it
constexpr double kSharedBytes = 170;  // of an SM and cycle
constexpr double kStoreBytes = 16;
constexpr double kWorkspaceBytes = 5.5;
constexpr double kIssueCycles = 1.25;  // of an instruction
constexpr double kDramShare = 0.82;    // of the rate of a plain read
constexpr double kAgainBytes = 60;     // of an SM and cycle, of what other blocks read, too
constexpr double kCopyCycles = 4;      // a warp's copy instruction
// Instructions for 16 columns of e4m3 on sm_90, where the compiler makes mma.sync of products of f16: conversions of a
// strip's numbers, and those of a tile's with its two products. Counted, not fitted.
constexpr double kWidenedStrip = 4, kWidenedTile = 3;
constexpr double kAheadCycles =
    2000;  // of a block that asks the L2 first, behind a kernel that is not ours (docs/notes/model.md)

}  // namespace

Estimate estimate(const Config& config, const KernelTarget& target, const Problem& asked) {
  const Problem problem = evenly_split(asked);  // of groups those that have rows
  const double first_step = kFirstStep + (asked.batch_mode == BatchMode::grouped ? kLookUp : 0);
  Estimate made;
  const Geometry g(config, target);
  const DeviceLimits& limits = target.limits;
  const int split_k = config.at("split_k"), stages = config.at("stages");
  const double warps = g.threads / 32.0;
  const double block_m = config.at("block_m"), block_n = config.at("block_n");

  made.blocks = double(g.tiles(config, problem)) * split_k;
  made.room_by_shared_memory = tensor_core::blocks_by_shared_memory(g.smem_bytes, limits);
  made.room_by_registers = limits.registers_per_sm / (g.registers * g.threads);
  made.room_by_threads = std::min(limits.threads_per_sm / g.threads, limits.blocks_per_sm);
  made.compiled_for = config.at("min_blocks");
  const int room =
      std::max(made.compiled_for, std::min({made.room_by_shared_memory, made.room_by_registers, made.room_by_threads}));
  // Blocks that come while others still run crowd on the SMs that are free first, as many as fit. 16×8192×8192 by 128
  // blocks took 24 µs where two fit an SM, and 15 where one does.
  const bool crowds = config.at("early_launch") == 1;
  const double all_sms = std::max(1, limits.sm_count) * share_of_sms(config.at("cluster") == 1 ? split_k : 1),
               sms = crowds ? std::clamp(std::ceil(made.blocks / room), 1.0, all_sms) : all_sms;
  made.sms = sms;
  made.resident = std::min(double(room), std::ceil(made.blocks / sms));
  made.waves = made.blocks / (sms * made.resident);

  // A step of one block, alone on its SM.
  const bool of_bytes = size_bytes(target.type.a) == 1, widened = is_fp8(target.type.a) && limits.features.wgmma;
  const bool minima = target.weights.type == WeightType::q4_k;  // sums of A are a product more for all strips of a warp
  const double strips = g.strips + (minima ? 1 : 0);
  const double products =
      block_m * block_n * g.step_k * (strips / g.strips) / (limits.rates.products * (of_bytes && !widened ? 2 : 1));
  const double of_steps = double(config.at("warp_columns")) / 16, tiles = g.token_tiles;  // of 16 columns, of a warp
  const bool on_sums = config.at("scale_sums") == 1;
  const int group =
      target.weights.group == 0 ? config.at("warp_columns") : std::min(target.weights.group, config.at("warp_columns"));
  const bool q6k = target.weights.type == WeightType::q6_k,
             takes_zeros = target.weights.zeros && !of_bytes && !minima && !q6k;
  const double of_numbers = tensor_core::instructions_of_numbers(target) + (takes_zeros ? 4 : 0) + (on_sums ? 0 : 4) +
                            (widened ? kWidenedStrip : 0);
  const double of_tile = widened ? kWidenedTile : of_bytes ? 0.5 : 1, of_load = of_bytes ? 0.5 : minima ? 2 : 1;
  const double of_group =  // of a strip, where scales multiply sums
      minima ? tiles * 8 + 16 : tiles * 4 + (q6k ? 8 : 4);
  const double instructions = of_steps * (g.strips * (of_numbers + tiles * of_tile) + tiles * of_load) +
                              (on_sums ? g.strips * of_group * config.at("warp_columns") / group : 0.0) +
                              g.stage_bytes / 16.0 / g.threads * kCopyCycles;
  const double issued = kIssueCycles * instructions * warps / 4;
  const double fragments = warps * of_steps * tiles * (of_bytes ? 128 : 256) + double(g.stage_bytes);
  const double multiplying = std::max(products, issued);
  const double busy =
      std::hypot(multiplying, (g.stage_bytes + fragments) / kSharedBytes, g.stage_bytes / limits.rates.l2_bytes);
  const double alone = std::max(busy + kStepOverhead, kMemoryLatency / (stages - 1));

  const double all_steps = std::ceil(double(problem.k) / g.step_k), steps = std::ceil(all_steps / split_k);
  const double sums_of_block = block_m * block_n;
  const double epilogue =
      config.at("warps_k") * sums_of_block * 8 / kSharedBytes + sums_of_block * 2 / kStoreBytes + 200;
  const auto wave = [&](double blocks) {
    return first_step + steps * std::max(alone, blocks * busy) + blocks * epilogue;
  };
  const double full_waves = std::floor(made.waves), rest = made.blocks - full_waves * sms * made.resident;
  double cycles =
      full_waves * wave(made.resident) + (rest > 0 ? wave(std::min(made.resident, std::ceil(rest / sms))) : 0);

  const double blocks_of_sm = std::ceil(made.blocks / sms);
  made.multiplying = blocks_of_sm * steps * multiplying;
  made.l2 = blocks_of_sm * steps * g.stage_bytes / limits.rates.l2_bytes;
  made.shared_memory = blocks_of_sm * steps * (g.stage_bytes + fragments) / kSharedBytes;
  made.latency = std::ceil(made.waves) * (first_step + steps * kMemoryLatency / (stages - 1));
  made.storing = blocks_of_sm * epilogue;
  double bytes = 0;
  for (const OperandMatrix& matrix : operands(problem)) bytes += matrix.element_bytes();
  made.dram = bytes / (kDramShare * limits.rates.dram_bytes * all_sms);
  // Rows of A in several tiles: each reads the weights again, from the L2.
  const double again = block_m >= double(problem.m) ? 0 : std::max(0.0, made.blocks * steps * g.stage_bytes - bytes);
  cycles = std::hypot(cycles, made.dram + again / (kAgainBytes * all_sms));

  const double without_passes = cycles;
  if (config.at("cluster") == 1 && split_k > 1) cycles += kClusterSync;
  if (has_second_launch(config))
    cycles += next_launch_cycles(config.at("overlap") == 1) +
              2 * split_k * double(problem.m) * double(problem.n) * 4 / (kWorkspaceBytes * all_sms);
  made.cycles = first_launch_cycles(config) + cycles + (config.at("ahead") == 1 ? kAheadCycles : 0);
  made.passes = made.cycles - without_passes;
  return made;
}

}  // namespace tilesmith::dequant
