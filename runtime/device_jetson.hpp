// What a Jetson tells through files, where NVML says "not supported": power mode, clock, temperature, power.
// Every function takes the root of the file system ("/"), so that tests read made-up trees; none throws, and what is not
// there is empty or 0.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/device.hpp"

namespace tilesmith::runtime {

/// nvpmodel's name of the power mode ("MAXN", "MODE_30W"): its state and configuration files say; if they do not,
/// `nvpmodel -q` is asked. Empty if neither tells.
std::string jetson_power_mode(const std::filesystem::path& root = "/");

/// The name in the output of `nvpmodel -q`: "NV Power Mode: MAXN".
std::string power_mode_in(const std::string& nvpmodel_output);

/// From devfreq (clock), the GPU's thermal zone and the INA3221 power monitors (the rails that feed the GPU).
Telemetry read_jetson(const std::filesystem::path& root = "/");

}  // namespace tilesmith::runtime
