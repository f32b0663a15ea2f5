// Code of one architecture on a later device (`--as sm_87`): compiled for the virtual architecture under the real one's
// limits, and finished by the driver's JIT compiler for the device that is there.
//
// The seam is the target's name. DeviceLimits::arch is NVRTC's name of what is compiled for; where it says "compute_87", the
// compiler gives PTX, the kernel's key and the environment's options are others than sm_87's, and Module hands the text to the
// driver. Nothing between the config and the loaded kernel knows of the mode.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kernels/families/device_limits.hpp"
#include "runtime/driver/device.hpp"

namespace tilesmith::runtime {

/// Empty if the device can run code of this architecture; else why not, in words: it is unknown, newer than the device, or
/// of the kind ("sm_90a") that no other device runs.
std::optional<std::string> as_refusal(const DeviceInfo& device, std::string_view arch);

/// The device as one that runs this architecture's code: its limits (no more shared memory than the device itself has), and
/// an identity of its own (db::identity_as). Throws DeviceError with as_refusal().
DeviceInfo device_as(DeviceInfo device, std::string_view arch);

}  // namespace tilesmith::runtime
