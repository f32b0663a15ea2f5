// A Jetson as a device: its power mode, and its state as telemetry. Nothing here throws; what is not there is empty or 0.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "runtime/driver/device.hpp"
#include "runtime/driver/jetson_state.hpp"

namespace tilesmith::runtime {

/// Where sys/, proc/, etc/ and var/ of the Jetson are read: "/", or the folder that the environment variable
/// TILESMITH_SYSFS_ROOT names (a container's view of the host, or a recorded tree).
std::filesystem::path jetson_root();

/// nvpmodel's name of the power mode ("MAXN", "MODE_30W"): its state and configuration files say; if they do not,
/// and the root is "/", `nvpmodel -q` is asked. Empty if neither tells.
std::string jetson_power_mode(const std::filesystem::path& root = jetson_root());

/// The name in the output of `nvpmodel -q`: "NV Power Mode: MAXN".
std::string power_mode_in(const std::string& nvpmodel_output);

/// The GPU's clock, temperature and rails, and whether heat throttles it.
Telemetry telemetry_of(const JetsonState& state);

/// Over-current throttling shows in a counter only, so it takes two readings to see it.
class OverCurrentWatch {
 public:
  /// Why the time since the last call is no record; empty if nothing happened, or this is the first call.
  std::string since_last(const JetsonState& state);

 private:
  std::optional<long long> last_;
};

}  // namespace tilesmith::runtime
