// What a Jetson tells of its clocks, heat and power in /sys, where NVML says "not supported". Names differ between
// JetPack 5 and 6; both are known here. What is not there, or is no sensible value, is empty or 0. Nothing here throws.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/driver/device.hpp"
#include "runtime/driver/nvml.hpp"

namespace tilesmith::runtime {

/// class/devfreq/17000000.gpu (JetPack 6) or 17000000.ga10b (5). min and max are today's limits: the power mode's,
/// jetson_clocks', and those that heat imposes.
struct GpuClock {
  std::string device;
  std::string governor;
  std::optional<double> current_mhz, min_mhz, max_mhz;
  /// As after jetson_clocks: the governor has no choice.
  bool locked() const { return min_mhz && max_mhz && *min_mhz == *max_mhz; }
};

/// class/thermal/thermal_zoneN: "gpu-thermal" (JetPack 6), "GPU-therm" (5).
struct ThermalZone {
  std::string type;
  std::optional<double> temperature_c;   ///< empty: powered down
  std::optional<double> throttles_at_c;  ///< the passive trip that caps the GPU's clock, else the highest passive trip
  bool of_gpu() const;                   ///< the GPU's own zone
  bool heats_gpu() const;                ///< the GPU's, or the hottest spot of the chip ("tj")
};

/// class/thermal/cooling_deviceN: "devfreq-17000000.gpu" (JetPack 6), "thermal-devfreq-0" (5), "gpu-throttle-alert".
struct CoolingDevice {
  std::string type;
  long long state = 0;  ///< 0: it does nothing
  std::optional<long long> most;
  bool caps_gpu_clock() const;
};

/// A channel of the INA3221 power monitors: "VDD_GPU_SOC" (AGX Orin), "VDD_CPU_GPU_CV" (Orin NX and Nano).
struct PowerRail {
  std::string label;
  double watt = 0;
};

struct JetsonState {
  std::string model;  ///< "NVIDIA Jetson AGX Orin Developer Kit"
  GpuClock gpu;
  std::vector<ThermalZone> zones;
  std::vector<CoolingDevice> cooling;
  std::vector<PowerRail> rails;
  std::optional<long long> over_current_events;  ///< how often current limits have slowed the chip since it was started
  std::vector<std::string> complaints;           ///< files whose contents were no sensible value, one line each

  bool empty() const { return gpu.device.empty() && rails.empty() && model.empty(); }
  const ThermalZone* gpu_zone() const;  ///< null if there is none
  const PowerRail* gpu_rail() const;    ///< the first whose label names the GPU; null if there is none
};

/// `root`: the file system's ("/"), or a folder that holds a copy of its sys/ and proc/.
JetsonState read_jetson_state(const std::filesystem::path& root);

/// Throttled: a cooling device caps the GPU's clock, the GPU's throttle alert is on, or a zone that heats it has
/// reached the trip at which its clock is capped. A clock below its maximum alone says nothing: an idle GPU lowers it
/// too.
ThrottleVerdict judge_throttling(const JetsonState& state);

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
