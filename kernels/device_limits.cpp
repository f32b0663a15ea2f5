#include "kernels/device_limits.hpp"

#include <array>

namespace tilesmith {
namespace {

constexpr std::string_view kReal = "sm_";
constexpr std::string_view kVirtual = "compute_";

constexpr int kKib = 1024;

struct Row {
  std::string_view arch;
  int sm;
  int smem_per_block_kib;
  int smem_per_sm_kib;
  int threads_per_sm;
  int blocks_per_sm;
  int sm_count;  // A100, RTX 3090, AGX Orin, RTX 4090, H100 and H200
  DeviceLimits::Rates rates;
};

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". Rates are from the data sheets of the same devices; the
// H200's products as measured (docs/notes/mma.md). An SM's share of the L2 is a guess, the H200's what wgmma reaches at least.
constexpr DeviceLimits::Rates kHopper{1340, 128, 56, 19, 1755};
constexpr std::array kRows{
    Row{"sm_80", 80, 163, 164, 2048, 32, 108, {1024, 64, 40, 10, 1410}},
    Row{"sm_86", 86, 99, 100, 1536, 16, 82, {512, 2, 30, 7, 1695}},
    Row{"sm_87", 87, 163, 164, 1536, 16, 16, {1500, 4, 48, 8, 1300}},
    Row{"sm_89", 89, 99, 100, 1536, 24, 128, {512, 2, 30, 3.1, 2520}},
    Row{"sm_90", 90, 227, 228, 2048, 32, 132, kHopper},
    Row{"sm_90a", 90, 227, 228, 2048, 32, 132, kHopper},
};

DeviceLimits limits_of(const Row& row) {
  DeviceLimits limits;
  limits.arch = row.arch;
  limits.sm = row.sm;
  limits.smem_per_block_bytes = row.smem_per_block_kib * kKib;
  limits.smem_per_sm_bytes = row.smem_per_sm_kib * kKib;
  limits.threads_per_sm = row.threads_per_sm;
  limits.blocks_per_sm = row.blocks_per_sm;
  limits.sm_count = row.sm_count;
  limits.rates = row.rates;
  return limits;
}

}  // namespace

std::optional<DeviceLimits> limits_for_arch(std::string_view arch) {
  for (const Row& row : kRows) {
    if (row.arch == arch) return limits_of(row);
  }
  return std::nullopt;
}

std::optional<DeviceLimits> limits_for_compute_capability(int major, int minor) {
  const int sm = 10 * major + minor;
  if (sm == 90) return limits_for_arch("sm_90a");  // wgmma and its kin exist under this name only
  for (const Row& row : kRows) {
    if (row.sm == sm) return limits_of(row);
  }
  return std::nullopt;
}

std::optional<DeviceLimits> virtual_limits(std::string_view arch) {
  std::optional<DeviceLimits> limits = limits_for_arch(arch);
  if (limits) limits->arch = std::string(kVirtual).append(arch.substr(kReal.size()));
  return limits;
}

std::optional<DeviceLimits> limits_for_target(std::string_view target) {
  if (!target.starts_with(kVirtual)) return limits_for_arch(target);
  return virtual_limits(std::string(kReal).append(target.substr(kVirtual.size())));
}

std::string supported_archs() {
  std::string result;
  for (const Row& row : kRows) result += (result.empty() ? "" : ", ") + std::string(row.arch);
  return result;
}

}  // namespace tilesmith
