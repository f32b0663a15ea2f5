#include "kernels/device_limits.hpp"

#include <algorithm>
#include <array>
#include <ranges>

namespace tilesmith {
namespace {

constexpr std::string_view kReal = "sm_";
constexpr std::string_view kVirtual = "compute_";

constexpr int kKib = 1024;

constexpr Features kAmpere{.four_bit_products = true, .xor_products = true, .fused_mma_spills = true};
constexpr Features kAda{.fp8 = true, .fp8_mma = true, .four_bit_products = true, .xor_products = true, .fused_mma_spills = true};
constexpr Features kHopper{.dependent_launch = true, .clusters = true, .tma = true, .wide_f64 = true, .fp8 = true};
constexpr Features kHopperWgmma{.dependent_launch = true, .clusters = true, .tma = true, .wgmma = true, .wide_f64 = true, .fp8 = true};

constexpr RatedClock kA100Clocks[] = {{"A100", "", 1410, 1410}};
constexpr RatedClock kOrinClocks[] = {
    {"Orin", "MAXN", 1300.5, 1300.5}, {"Orin", "50W", 816, 816}, {"Orin", "30W", 612, 612}, {"Orin", "15W", 408, 408}};
// Hopper's sheets state tensor rates at a lower clock than those of f64 and f32 (989 TFLOP/s f16 is 132 SMs at 1830 MHz, 67 TFLOP/s of
// either the same at 1980 MHz).
constexpr RatedClock kHopperClocks[] = {{"H200 NVL", "", 1545, 1785}, {"H100 NVL", "", 1545, 1785}, {"H200", "", 1830, 1980},
                                        {"H100 80GB HBM3", "", 1830, 1980}, {"H100 PCIe", "", 1620, 1755}};

constexpr DeviceLimits::Rates kHopperRates{1340, 128, 64, 0, 56, 19, 1755};
constexpr DeviceLimits::Peak kHopperPeak{4096, 2048, 8192, 256, 256};
constexpr DeviceLimits::Peak kGeForcePeak{1024, 512, 2048, 4, 256, true};

// Limits: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". Peaks: NVIDIA's whitepapers on the A100 (GA100),
// GA102, AD102, H100 (GH100) and GB202 architectures, and the Jetson AGX Orin technical brief. Rates are from the data sheets of the same
// devices; the H200's products as measured (docs/notes/mma.md). An SM's share of the L2 is a guess, the H200's what wgmma reaches at least.
// Best-known devices: A100, RTX 3090, AGX Orin, RTX 4090, H100 and H200, RTX 5090.
const auto& rows() {
  static const std::array all{
      DeviceLimits{.arch = "sm_80", .sm = 80, .smem_per_block_bytes = 163 * kKib, .smem_per_sm_bytes = 164 * kKib, .sm_count = 108,
                   .features = kAmpere, .rates = {1024, 64, 32, 0, 40, 10, 1410}, .peak = {2048, 1024, 4096, 128, 128},
                   .rated_clocks = kA100Clocks},
      DeviceLimits{.arch = "sm_86", .sm = 86, .smem_per_block_bytes = 99 * kKib, .smem_per_sm_bytes = 100 * kKib, .threads_per_sm = 1536,
                   .blocks_per_sm = 16, .sm_count = 82, .features = kAmpere, .rates = {512, 2, 2, 0, 30, 7, 1695}, .peak = kGeForcePeak},
      DeviceLimits{.arch = "sm_87", .sm = 87, .smem_per_block_bytes = 163 * kKib, .smem_per_sm_bytes = 164 * kKib, .threads_per_sm = 1536,
                   .blocks_per_sm = 16, .sm_count = 16, .features = kAmpere, .rates = {1500, 4, 4, 1024, 48, 8, 1300},
                   .peak = {2048, 1024, 4096, 4, 256}, .rated_clocks = kOrinClocks},
      DeviceLimits{.arch = "sm_89", .sm = 89, .smem_per_block_bytes = 99 * kKib, .smem_per_sm_bytes = 100 * kKib, .threads_per_sm = 1536,
                   .blocks_per_sm = 24, .sm_count = 128, .features = kAda, .rates = {512, 2, 2, 0, 30, 3.1, 2520}, .peak = kGeForcePeak},
      DeviceLimits{.arch = "sm_90", .sm = 90, .smem_per_block_bytes = 227 * kKib, .smem_per_sm_bytes = 228 * kKib, .sm_count = 132,
                   .features = kHopper, .rates = kHopperRates, .peak = kHopperPeak, .rated_clocks = kHopperClocks},
      DeviceLimits{.arch = "sm_90a", .sm = 90, .smem_per_block_bytes = 227 * kKib, .smem_per_sm_bytes = 228 * kKib, .sm_count = 132,
                   .features = kHopperWgmma, .rates = kHopperRates, .peak = kHopperPeak, .rated_clocks = kHopperClocks},
  };
  return all;
}

std::optional<DeviceLimits> found(const auto& range, const auto& is_it) {
  const auto row = std::ranges::find_if(range, is_it);
  return row == std::ranges::end(range) ? std::nullopt : std::optional(*row);
}

}  // namespace

std::optional<DeviceLimits> limits_for_arch(std::string_view arch) {
  return found(rows(), [&](const DeviceLimits& row) { return row.arch == arch; });
}

std::optional<DeviceLimits> limits_for_compute_capability(int major, int minor) {
  // The last row of a capability has the most features: sm_90a behind sm_90.
  return found(std::views::reverse(rows()), [&](const DeviceLimits& row) { return row.sm == 10 * major + minor; });
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
  for (const DeviceLimits& row : rows()) result += (result.empty() ? "" : ", ") + row.arch;
  return result;
}

}  // namespace tilesmith
