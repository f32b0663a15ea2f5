#include "kernels/families/device_limits.hpp"

#include <algorithm>
#include <array>
#include <ranges>

namespace tilesmith {
namespace {

constexpr std::string_view kReal = "sm_";
constexpr std::string_view kVirtual = "compute_";

constexpr Features kAmpere{.four_bit_products = true, .xor_products = true, .fused_mma_spills = true};
constexpr Features kAda{
    .fp8 = true, .fp8_mma = true, .four_bit_products = true, .xor_products = true, .fused_mma_spills = true};
constexpr Features kHopper{.dependent_launch = true, .clusters = true, .tma = true, .wide_f64 = true, .fp8 = true};
constexpr Features kHopperWgmma{
    .dependent_launch = true, .clusters = true, .tma = true, .wgmma = true, .wide_f64 = true, .fp8 = true};
// Compiled, never run: no kernel of ours was tried with its dependent launches, clusters and tensor memory accelerator.
constexpr Features kConsumerBlackwell{.fp8 = true, .fp8_mma = true, .fused_mma_spills = true};

constexpr RatedClock kA100Clocks[] = {{"A100", "", 1410, 1410}};
constexpr RatedClock kOrinClocks[] = {
    {"Orin", "MAXN", 1300.5, 1300.5}, {"Orin", "50W", 816, 816}, {"Orin", "30W", 612, 612}, {"Orin", "15W", 408, 408}};
// Hopper's sheets state tensor rates at a lower clock than those of f64 and f32: 989 and 67 TFLOP/s are 132 SMs at 1830
// and 1980 MHz.
constexpr RatedClock kHopperClocks[] = {{"H200 NVL", "", 1545, 1785}, {"H100 NVL", "", 1545, 1785},
    {"H200", "", 1830, 1980}, {"H100 80GB HBM3", "", 1830, 1980}, {"H100 PCIe", "", 1620, 1755}};

constexpr DeviceLimits::Rates kHopperRates{1340, 128, 64, 0, 56, 19, 1755};
constexpr DeviceLimits::Peak kHopperPeak{4096, 2048, 8192, 256, 256};
constexpr DeviceLimits::Peak kGeForcePeak{1024, 512, 2048, 4, 256, true};

/// An SM has 1 KiB of shared memory more than a block may have.
DeviceLimits row(const char* arch, int sm, int oldest_nvrtc, int smem_kib, int threads, int blocks, int sm_count,
    const Features& features, const DeviceLimits::Rates& rates, const DeviceLimits::Peak& peak,
    std::span<const RatedClock> clocks = {}) {
  return {arch, sm, oldest_nvrtc, smem_kib * 1024, smem_kib * 1024 + 1024, threads, blocks, sm_count, features, rates,
      peak, clocks};
}

// Limits: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". Peaks: NVIDIA's whitepapers on
// GA100, GA102, AD102, GH100 and GB202, and the Jetson AGX Orin technical brief. Rates: data sheets of A100, RTX 3090,
// AGX Orin, RTX 4090, H200 and RTX 5090; the H200's products as measured (docs/notes/mma.md). An SM's share of the L2
// is a guess, the H200's what wgmma reaches at least.
const auto& rows() {
  static const std::array all{
      row("sm_80", 80, 12000, 163, 2048, 32, 108, kAmpere, {1024, 64, 32, 0, 40, 10, 1410},
          {2048, 1024, 4096, 128, 128}, kA100Clocks),
      row("sm_86", 86, 12000, 99, 1536, 16, 82, kAmpere, {512, 2, 2, 0, 30, 7, 1695}, kGeForcePeak),
      row("sm_87", 87, 12000, 163, 1536, 16, 16, kAmpere, {1500, 4, 4, 1024, 48, 8, 1300}, {2048, 1024, 4096, 4, 256},
          kOrinClocks),
      row("sm_89", 89, 12000, 99, 1536, 24, 128, kAda, {512, 2, 2, 0, 30, 3.1, 2520}, kGeForcePeak),
      row("sm_90", 90, 12000, 227, 2048, 32, 132, kHopper, kHopperRates, kHopperPeak, kHopperClocks),
      row("sm_90a", 90, 12000, 227, 2048, 32, 132, kHopperWgmma, kHopperRates, kHopperPeak, kHopperClocks),
      row("sm_120", 120, 12080, 99, 1536, 24, 170, kConsumerBlackwell, {512, 2, 2, 0, 30, 4.4, 2407}, kGeForcePeak),
  };
  return all;
}

std::optional<DeviceLimits> first_in(const auto& range, const auto& is_it) {
  const auto found = std::ranges::find_if(range, is_it);
  return found == std::ranges::end(range) ? std::nullopt : std::optional(*found);
}

}  // namespace

std::optional<DeviceLimits> limits_for_sm(int sm) {
  // The last row of a capability has the most features: sm_90a behind sm_90.
  return first_in(std::views::reverse(rows()), [&](const DeviceLimits& one) { return one.sm == sm; });
}

std::optional<DeviceLimits> limits_for_arch(std::string_view arch) {
  return first_in(rows(), [&](const DeviceLimits& one) { return one.arch == arch; });
}

std::optional<DeviceLimits> virtual_limits(std::string_view arch) {
  std::optional<DeviceLimits> limits = limits_for_arch(arch);
  if (!limits) return limits;
  limits->arch = std::string(kVirtual).append(arch.substr(kReal.size()));
  limits->features.wgmma = false;  // PTX is for other devices, which do not have it
  return limits;
}

std::optional<DeviceLimits> limits_for_target(std::string_view target) {
  if (!target.starts_with(kVirtual)) return limits_for_arch(target);
  return virtual_limits(std::string(kReal).append(target.substr(kVirtual.size())));
}

std::string supported_archs() {
  std::string result;
  for (const DeviceLimits& one : rows()) result += (result.empty() ? "" : ", ") + one.arch;
  return result;
}

}  // namespace tilesmith
