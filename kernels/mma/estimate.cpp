#include "kernels/mma/estimate.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/mma/geometry.hpp"

namespace tilesmith::mma {
namespace {

/// Of an SM and clock cycle. Products: multiply-adds of 16-bit operands by mma.sync; f64 ones.
struct Rates {
  int sm;
  double products, products_f64, l2_bytes, dram_bytes;
};

// From the data sheets (A100, RTX 3090, AGX Orin, RTX 4090); the H200's products as measured (docs/notes/mma.md). An SM's share
// of the L2 is a guess.
constexpr Rates kRates[] = {
    {80, 1024, 64, 40, 10}, {86, 512, 2, 30, 7}, {87, 512, 4, 30, 9.8}, {89, 512, 2, 30, 3.1}, {90, 1340, 128, 40, 19},
};

constexpr double kSharedBytes = 128;        // of an SM and cycle
constexpr double kLaunch = 3500;            // a dependent launch
constexpr double kOverlappedLaunch = 1500;  // that comes while the one before ends
constexpr double kBlockSync = 100;          // all threads wait for each other
constexpr double kClusterSync = 1500;       // and sums stored to other blocks' shared memory
constexpr double kFirstStep = 1500;         // from a block's start until it multiplies
constexpr double kMemoryLatency = 900;      // of a copy
constexpr double kStepOverhead = 80;        // the barrier, and what follows it
constexpr double kSlabLatency = 40;         // fragment loads that nothing hides
constexpr double kCopyCycles = 4;           // a warp's copy instruction
constexpr double kSlowedByCopies = 1.1;     // warps that copy as well as multiply
constexpr double kStoreBytes = 16;          // of an SM and cycle, of sums
constexpr double kWorkspaceBytes = 8;       // of an SM and cycle, written and read again

const Rates& rates_of(int sm) {
  const Rates* best = &kRates[0];
  for (const Rates& rates : kRates) {
    if (rates.sm <= sm) best = &rates;
  }
  return *best;
}

double products_per_cycle(const Rates& rates, const TypePair& type) {
  switch (size_bytes(type.operand)) {
    case 1:
      return 2 * rates.products;
    case 2:
      return rates.products;
    case 4:
      return rates.products / 2;
    default:
      return rates.products_f64;
  }
}

/// Of the products' rate, what so many warps on an SM reach: each of its four schedulers needs some to choose from.
double share_of_rate(const TypePair& type, int warps) {
  if (size_bytes(type.operand) == 8) return 1;  // its instructions take so long that one warp suffices
  if (warps <= 4) return 0.6;
  if (warps <= 8) return 0.8;
  return warps <= 12 ? 0.9 : 1;
}

/// Of the SMs, those that clusters of so many blocks can fill: they do not span the groups that SMs come in.
double share_of_sms(int cluster) { return cluster >= 8 ? 0.8 : cluster >= 4 ? 0.88 : 1; }

}  // namespace

double estimate_cycles(const Config& config, const KernelTarget& target, const Problem& problem) {
  const Geometry g(config, target.type);
  const Rates& rates = rates_of(target.limits.sm);
  const double element = double(size_bytes(target.type.operand)), output = double(size_bytes(target.type.output));
  const double accumulator = double(size_bytes(target.type.accumulator));
  const double sms = std::max(1, target.limits.sm_count) * share_of_sms(cluster_k(config));
  const int split_k = config.at("split_k"), reduction = config.at("reduction"), copy = config.at("copy_bytes");
  const bool tma = config.at("tma") == 1;
  const double next_launch = config.at("overlap") == 1 ? kOverlappedLaunch : kLaunch;

  const double items = double(g.tiles(problem)) * split_k;
  const double resident = std::min(double(config.at("min_blocks")), std::ceil(items / sms));  // blocks of an SM
  const int warps = g.multiplying_threads / 32 * int(resident);

  // A step of one block, alone on its SM.
  const double step_bytes = double(g.stage_bytes);
  const double fragment_bytes =
      double(g.warps_m * g.warps_n) * (config.at("warp_m") + config.at("warp_n")) * g.block_k * element;
  const double products = double(g.block_m) * g.block_n * g.block_k / products_per_cycle(rates, target.type);
  const double copies = tma ? 0 : step_bytes / copy / 32 * kCopyCycles;
  const double copied_by_all = tma ? 1 : kSlowedByCopies;
  double busy = std::max({copied_by_all * products / share_of_rate(target.type, warps), step_bytes / rates.l2_bytes,
                          (step_bytes + fragment_bytes) / kSharedBytes, copies});
  if (copy < 4) busy += copies;  // plain loads wait for one another
  const double slab_latency = config.at("frag_buffers") == 1 ? kSlabLatency : kSlabLatency / 2;
  const double alone = std::max(
      {busy + kStepOverhead, kMemoryLatency / (config.at("stages") - 1), g.slabs * slab_latency + kStepOverhead});

  // Waves of blocks; several on an SM hide each other's waits, and share what is busy.
  const std::int64_t all_steps = (problem.k + g.block_k - 1) / g.block_k;
  const double steps = double((all_steps + split_k - 1) / split_k);
  const double sums_of_block = double(g.block_m) * g.block_n;
  double epilogue = sums_of_block * output / kStoreBytes;
  if (config.at("slice_k") > 1)
    epilogue += kBlockSync + 2 * config.at("slice_k") * sums_of_block * accumulator / kSharedBytes;
  const auto wave = [&](double blocks) {
    return kFirstStep + steps * std::max(alone, blocks * busy) + blocks * epilogue;
  };
  const double full_waves = std::floor(items / (sms * resident));
  const double rest = items - full_waves * sms * resident;
  double cycles = full_waves * wave(resident) + (rest > 0 ? wave(std::ceil(rest / sms)) : 0);
  if (config.at("persistent") == 1 && full_waves > 1) cycles -= (full_waves - 1) * (kFirstStep + epilogue / 2);

  const double sums = double(problem.m) * double(problem.n);
  const double operand_bytes = (double(problem.m) + double(problem.n)) * double(problem.k) * element;
  cycles = std::max(cycles, kFirstStep + (operand_bytes + sums * output) / (rates.dram_bytes * sms));

  if (cluster_k(config) > 1) cycles += kClusterSync + sums_of_block * accumulator / kStoreBytes;
  if (partial_slices(config) > 1)
    cycles += next_launch + 2 * partial_slices(config) * sums * accumulator / (kWorkspaceBytes * sms);
  if (split_k > 1 && reduction == atomic) cycles += next_launch + 2 * split_k * sums * output / (kWorkspaceBytes * sms);
  const double packed_bytes =
      ((config.at("pack") & pack_a) != 0 ? double(problem.m) * double(problem.k) * element : 0) +
      ((config.at("pack") & pack_b) != 0 ? double(problem.n) * double(problem.k) * element : 0);
  if (packed_bytes > 0) cycles += next_launch + 2 * packed_bytes / (rates.dram_bytes * sms);
  return kLaunch + cycles;
}

}  // namespace tilesmith::mma
