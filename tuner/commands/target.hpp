// Which device or architecture a command works for.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "db/store.hpp"
#include "kernels/family.hpp"
#include "runtime/device.hpp"

namespace tilesmith::tuner {

/// A device, present or known from a database.
struct TargetDevice {
  db::DeviceIdentity identity;
  DeviceLimits limits;
  double clock_mhz = 0;         ///< 0: unknown (not present)
  std::string driver_version;   ///< empty: not present
  bool present = false;
};

/// Throws UsageError naming --arch and what is supported.
DeviceLimits require_arch(std::string_view arch);

/// The device of that ordinal. Throws UsageError: one line that says why there is none and `advice`, or which ordinals
/// there are.
runtime::DeviceInfo require_device(int ordinal, std::string_view advice);

/// A device of the store whose text contains `part` (case-insensitive; empty: any). Throws UsageError unless exactly one
/// matches, listing those there are.
TargetDevice require_stored_device(const db::Store& store, const std::string& part);

/// The device that `explain` and its like answer for: one of the store that --device names, else the GPU here (if the
/// store is about any device, or none), else the only one of the store.
TargetDevice device_to_answer_for(const db::Store& store, const std::string& part);

/// What the runtime library would take itself for as a producer, given this evidence (the same rule as its own): the newest
/// entry's NVRTC and measuring policy, this build's template and options, the device's driver if it is here, else the newest
/// entry's, since it cannot be asked.
db::Producer producer_now(std::span<const db::Evidence> entries, const std::string& family, const TargetDevice& device,
                          const KernelTarget& target);

/// "sm_87" → the arch of this identity ("sm_90a" for sm 90). Throws UsageError if it is not supported.
DeviceLimits limits_of(const db::DeviceIdentity& device);

/// "NVIDIA H200", "Orin (MAXN, 16 SMs)": short, for tables.
std::string short_name(const db::DeviceIdentity& device);

}  // namespace tilesmith::tuner
