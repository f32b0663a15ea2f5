#include "kernels/simt/simt.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/families/passes.hpp"
#include "kernels/families/shared_rules.hpp"
#include "kernels/problem/sub_byte.hpp"

namespace tilesmith::simt {
namespace {

// Fitted to 700 recorded times of single problems and eight of small batches: docs/notes/batches.md.
constexpr double kFirstStep = 1600;       // From a block's start until it loads, and from its last step until its end.
constexpr double kMemoryLatency = 860;    // Of a step's loads.
constexpr double kBlockStart = 190;       // An SM starts no more than one block in so many cycles.
constexpr double kLoadInstructions = 30;  // of an element: its address, two bounds, the load, the conversion, the store
constexpr double kPackedInstructions = 21;  // of an 8-bit integer
constexpr double kReadInstructions = 1.8;   // of a word of shared memory
constexpr double kStepInstructions = 65;
constexpr double kLoadCycles = 3.6;   // of the SM's load and store units, of what a warp's load takes from one entry
constexpr double kStoreCycles = 7.8;  // the same of its stores
constexpr double kDependent = 4.8;    // cycles between instructions of a warp that has its scheduler for itself
constexpr double kSchedulers = 4;
constexpr double kShareOfIssue = 0.88;  // of the issue slots, what many warps fill
constexpr int kOtherRegisters = 30;     // of a thread, beside sums and operands
constexpr int kWarpThreads = 32;

/// Of a warp's multiply-add (of 8-bit integers four), on one of four schedulers: issue slots.
double product_slots(const KernelTarget& target) {
  constexpr double kFullRate = 128;  // an SM and cycle: a slot each
  if (is_integer(multiplied_as(target).a)) return 2;
  if (target.type.a == Scalar::f64) return kFullRate / target.limits.rates.fma_f64;
  return kFullRate / (target.limits.peak.f32 / 2);
}

}  // namespace

std::optional<Estimate> estimate(const Config& config, const KernelTarget& target, const Problem& asked) {
  if (target.batch_mode == BatchMode::single) return std::nullopt;
  const Problem problem = evenly_split(asked);
  const Scalar factor = multiplied_as(target).a;
  const Geometry g(config, multiplied_as(target));
  const DeviceLimits& limits = target.limits;
  const double sms = std::max(1, limits.sm_count);
  const double thread_m = config.at("thread_m"), thread_n = config.at("thread_n"), block_k = config.at("block_k");
  const double words = factor == Scalar::f64 ? 2 : 1, pack = is_bit(factor) ? 32 : is_integer(factor) ? 4 : 1;

  Estimate made;
  const int threads = g.threads * g.entries;
  const double warps = std::ceil(double(threads) / kWarpThreads);
  made.room_by_threads = std::min(limits.threads_per_sm / threads, limits.blocks_per_sm);
  made.room_by_registers =
      limits.registers_per_sm /
      (std::min(g.registers + kOtherRegisters, limits.registers_per_thread) * kWarpThreads * int(warps));
  made.room_by_shared_memory = tensor_core::blocks_by_shared_memory(g.smem_bytes, limits);
  made.compiled_for = 1;
  const auto pieces = [](std::int64_t whole, std::int64_t piece) { return double((whole - 1) / piece + 1); };
  made.blocks = pieces(problem.m, config.at("block_m")) * pieces(problem.n, config.at("block_n")) *
                pieces(problem.batch, g.entries);
  made.sms = sms;
  const double blocks_of_sm = std::ceil(made.blocks / sms);
  const int fit = std::max(1, std::min({made.room_by_shared_memory, made.room_by_registers, made.room_by_threads}));
  made.resident = std::min(double(fit), blocks_of_sm);
  made.waves = made.blocks / (sms * made.resident);

  // A step of one block: a thread's instructions are what its warp issues.
  const double of_load =
      is_sub_byte(target.type.a) ? 8 / double(size_bits(target.type.a)) : 1;  // elements, where rows run along K
  const double loads = std::max(1.0, (config.at("block_m") + config.at("block_n")) * block_k / of_load / g.threads);
  const double reads = block_k / pack * (thread_m + thread_n) * words;
  const double products = block_k / pack * thread_m * thread_n * product_slots(target);
  const double slots = loads * (pack > 1 ? kPackedInstructions : kLoadInstructions) + products +
                       reads * kReadInstructions + kStepInstructions;
  const double entries_of_warp = std::max(1.0, double(kWarpThreads) / g.threads);  // each in lines of its own
  const double shared = warps * (loads * kLoadCycles * entries_of_warp + reads);
  const double busy = std::max(warps * slots / (kSchedulers * kShareOfIssue), shared);
  const double alone = kMemoryLatency + slots * kDependent;

  const double steps = pieces(problem.k, config.at("block_k"));
  const double epilogue = warps * thread_m * thread_n * kStoreCycles;
  const double pointers = target.batch_mode == BatchMode::pointers ? kMemoryLatency : 0;  // which are loaded first
  const auto wave = [&](double blocks) {
    return kFirstStep + pointers + steps * std::max(blocks * busy, alone) + blocks * epilogue;
  };
  const double full_waves = std::floor(made.blocks / (sms * made.resident));
  const double rest = std::ceil((made.blocks - full_waves * sms * made.resident) / sms);
  double cycles = full_waves * wave(made.resident) + (rest > 0 ? wave(rest) : 0);
  cycles = std::max(cycles, blocks_of_sm * kBlockStart);

  const double blocks_in_turn = full_waves * made.resident + rest;
  made.multiplying = blocks_in_turn * steps * warps * products / kSchedulers;
  made.shared_memory = blocks_in_turn * steps * shared;
  made.latency = std::max(std::ceil(made.waves) * (kFirstStep + pointers + steps * alone), blocks_of_sm * kBlockStart);
  made.storing = blocks_in_turn * epilogue;
  const double element = double(size_bits(target.type.a)) / 8, output = double(size_bytes(target.type.output));
  const double a_bytes =
      tensor_core::matrices_of(problem, OperandRole::a) * double(problem.m) * double(problem.k) * element;
  const double b_bytes = has_weights(problem) ? operand(problem, OperandRole::b).element_bytes()
                                              : tensor_core::matrices_of(problem, OperandRole::b) * double(problem.n) *
                                                    double(problem.k) * element;
  const double d_bytes = double(problem.m) * double(problem.d_cols()) * double(problem.batch) * output;
  made.dram = (a_bytes + b_bytes + d_bytes) / (limits.rates.dram_bytes * sms);
  made.cycles = first_launch_cycles(config) + std::hypot(cycles, made.dram);
  made.passes = first_launch_cycles(config);
  return made;
}

}  // namespace tilesmith::simt
