// A device that a command answers for, and whether it is here or not.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "db/store/record.hpp"
#include "kernels/families/family.hpp"
#include "runtime/driver/device.hpp"

namespace tilesmith::tuner {

/// A device, present or known from a database.
struct TargetDevice {
  db::DeviceIdentity identity;
  DeviceLimits limits;
  double clock_mhz = 0;        ///< 0: unknown (not present)
  std::string driver_version;  ///< empty: not present
  bool present = false;
};

TargetDevice present_device(const runtime::DeviceInfo& info);

/// The limits of what was compiled for this device: sm_90a for sm 90, the virtual architecture for one that ran as
/// another. Empty if it is not supported.
std::optional<DeviceLimits> limits_of(const db::DeviceIdentity& device);

/// What the runtime library on the device would take itself for as an environment. NVRTC and measuring policy are those
/// of the device's newest entry, or of any device's where it has none. Options are this build's. The driver is the
/// device's, or that entry's if the device is not here.
db::Environment environment_to_judge_by(
    std::span<const db::Record> entries, const std::string& family, const TargetDevice& device);

}  // namespace tilesmith::tuner
