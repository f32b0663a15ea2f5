#include "kernels/ffma/ffma.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/families/passes.hpp"
#include "kernels/families/shared_rules.hpp"

namespace tilesmith::ffma {
namespace {

// Fitted to times of an H200 (docs/notes/model.md), but for what names its own measurement.
constexpr double kFirstStep = 2000;  // beside its first stage's bytes
constexpr double kMemoryLatency = 1400;
constexpr double kStoreBytes = 24;     // of an SM and cycle, of sums
constexpr double kWorkspaceBytes = 8;  // of an SM and cycle, written and read again
constexpr double kSchedulers = 4;
constexpr double kCopyInstructions = 1.5;  // With its address.
constexpr double kGroupInstructions = 3;   // Empty ones, before the first copy of a group.
constexpr double kStepInstructions = 20;   // The barrier, and what follows it.
constexpr double kStepWait = 10;           // For the barrier, of blocks that have the SM for themselves.
constexpr double kReadCycles =
    3.5;  // of the SM's shared memory, of a warp's 16-byte read: threads of a row share what they read
constexpr double kCopyCycles = 2;              // the same of a warp's copy
constexpr double kSlowedByFewRegisters = 1.1;  // where a kernel may spill, which refuses it
constexpr int kUsualRegisters = 40;            // of a thread, beside sums and operands

/// Of the issue slots, what so many warps of a scheduler fill: 1024³ with 4 and 8 warps, 4096³ with 8 and 16.
double share_of_issue(double warps) {
  if (warps <= 4) return 0.76 * warps / 4;
  return warps <= 8 ? 0.87 : 0.9;
}

}  // namespace

Estimate estimate(const Config& config, const KernelTarget& target, const Problem& asked) {
  const Problem problem = evenly_split(asked);
  Estimate made;
  const Geometry g(config, target.trans);
  const DeviceLimits& limits = target.limits;
  const double sms = std::max(1, limits.sm_count);
  const int split_k = config.at("split_k");
  const double thread_m = config.at("thread_m"), thread_n = config.at("thread_n");

  made.room_by_shared_memory = tensor_core::blocks_by_shared_memory(g.smem_bytes, limits);
  made.room_by_registers = limits.registers_per_sm / ((g.registers + kUsualRegisters) * g.threads);
  made.room_by_threads = std::min(limits.threads_per_sm / g.threads, limits.blocks_per_sm);
  made.compiled_for = config.at("min_blocks");
  const double items = double(g.tiles(problem)) * split_k;
  const auto blocks_of_sm = [&](double blocks) { return std::ceil(blocks / sms); };
  const int fit = std::min({made.room_by_shared_memory, made.room_by_registers, made.room_by_threads});
  const double resident = std::min(double(std::max(fit, made.compiled_for)), blocks_of_sm(items));

  // A step of one block: instructions of a scheduler, where an FMA of 32 threads takes the rate's share of one.
  const double warps = double(g.threads) / kWarpThreads;
  const bool few_registers = registers_left(g, config.at("min_blocks"), limits) < kEnoughOtherRegisters;
  const double product_slots = (few_registers ? kSlowedByFewRegisters : 1) * thread_m * thread_n * kSchedulers *
                               kWarpThreads / (limits.peak.f32 / 2);
  const double read_slots = (thread_m + thread_n) / 4;
  const double other_slots = g.copies * kCopyInstructions + g.copy_groups * kGroupInstructions + kStepInstructions;
  const double slots = warps / kSchedulers * (g.step_k * (product_slots + read_slots) + other_slots);
  const double shared = warps * (g.step_k * read_slots * kReadCycles + g.copies * kCopyCycles);
  const double l2 = g.stage_bytes / limits.rates.l2_bytes;
  const auto step = [&](double blocks) {
    const double busy = blocks * slots / share_of_issue(blocks * warps);
    const double waits = blocks > 1 ? 0 : kStepWait;
    return std::max({busy + waits, blocks * shared, blocks * l2, kMemoryLatency / (config.at("stages") - 1)});
  };

  const std::int64_t all_steps = (problem.k + g.block_k - 1) / g.block_k;
  const double steps = double((all_steps + split_k - 1) / split_k);
  const double sums_of_block = double(g.block_m) * g.block_n;
  const double epilogue = sums_of_block * kElementBytes / kStoreBytes;
  const auto wave = [&](double blocks) { return kFirstStep + blocks * l2 + steps * step(blocks) + blocks * epilogue; };
  const double full_waves = std::floor(items / (sms * resident));
  const double rest = items - full_waves * sms * resident;
  double cycles = full_waves * wave(resident) + (rest > 0 ? wave(std::min(resident, blocks_of_sm(rest))) : 0);

  made.blocks = items;
  made.sms = sms;
  made.resident = resident;
  made.waves = items / (sms * resident);
  const double blocks_in_turn = full_waves * resident + (rest > 0 ? std::min(resident, blocks_of_sm(rest)) : 0);
  made.multiplying = blocks_in_turn * steps * warps / kSchedulers * g.step_k * product_slots;
  made.shared_memory = blocks_in_turn * steps * shared;
  made.l2 = blocks_in_turn * steps * l2;
  made.latency = std::ceil(made.waves) * (kFirstStep + steps * kMemoryLatency / (config.at("stages") - 1));
  made.storing = blocks_in_turn * epilogue;
  const double m = double(problem.m), n = double(problem.n), k = double(problem.k),
               sums = m * n * double(problem.batch);
  const double read = tensor_core::matrices_of(problem, OperandRole::a) * m * k +
                      tensor_core::matrices_of(problem, OperandRole::b) * n * k;
  made.dram = (read + sums) * kElementBytes / (limits.rates.dram_bytes * sms);
  cycles = std::hypot(cycles, made.dram);

  const double without_passes = cycles;
  const double next_launch = next_launch_cycles(config.at("overlap") == 1);
  if (split_k > 1) cycles += next_launch + 2 * split_k * sums * kElementBytes / (kWorkspaceBytes * sms);
  made.cycles = first_launch_cycles(config) + cycles;
  made.passes = made.cycles - without_passes;
  return made;
}

}  // namespace tilesmith::ffma
