// What rules of one's own may read of the device.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "kernels/families/device_limits.hpp"

namespace tilesmith {

inline constexpr std::array<std::string_view, 9> kDeviceNames{"sm", "sm_count", "smem_per_block", "smem_per_sm",
    "threads_per_block", "threads_per_sm", "blocks_per_sm", "registers_per_thread", "registers_per_sm"};

/// In the order of kDeviceNames.
inline std::array<std::int64_t, kDeviceNames.size()> device_values(const DeviceLimits& l) {
  return {l.sm, l.sm_count, l.smem_per_block_bytes, l.smem_per_sm_bytes, l.threads_per_block, l.threads_per_sm,
      l.blocks_per_sm, l.registers_per_thread, l.registers_per_sm};
}

}  // namespace tilesmith
