#include "runtime/driver/virtual_arch.hpp"

#include <cuda.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tilesmith::runtime {
std::optional<std::string> as_refusal(const DeviceInfo& device, std::string_view arch) {
  const auto limits = limits_for_arch(arch);
  if (!limits) return fmt::format("is not supported; expected one of {}", supported_archs());
  if (limits->sm > device.limits.sm) {
    return fmt::format("{} is sm_{}; expected an architecture no newer than that", device.identity.name,
                       device.limits.sm);
  }
  if (arch.ends_with('a') && arch != device.limits.arch) {
    return fmt::format("{} is sm_{}, and code for {} runs on sm_{} alone; expected an architecture without 'a'",
                       device.identity.name, device.limits.sm, arch, limits->sm);
  }
  return std::nullopt;
}

DeviceInfo device_as(DeviceInfo device, std::string_view arch) {
  if (const auto reason = as_refusal(device, arch)) {
    throw DeviceError(CUDA_ERROR_INVALID_VALUE, fmt::format("device {} as {}: {}", device.ordinal, arch, *reason));
  }
  const DeviceLimits own = device.limits;
  device.identity = db::identity_as(std::move(device.identity), *limits_for_arch(arch));
  device.limits = *virtual_limits(arch);
  // sm_87 may have more shared memory than a later device: what cannot be launched here cannot be proven here.
  device.limits.smem_per_block_bytes = std::min(device.limits.smem_per_block_bytes, own.smem_per_block_bytes);
  return device;
}

}  // namespace tilesmith::runtime
