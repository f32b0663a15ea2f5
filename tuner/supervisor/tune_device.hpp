// What a tuner works on.
#pragma once

#include <string>

#include "db/store/record.hpp"
#include "kernels/families/device_limits.hpp"

namespace tilesmith::tuner {

/// A GPU, or a recording that is replayed as one.
struct TuneDevice {
  int ordinal = 0;
  db::DeviceIdentity identity;
  DeviceLimits limits;
  double clock_mhz = 0;  ///< 0: unknown
  std::string driver_version;
  std::string gpu;          ///< its name among all GPUs of the machine; empty: a recording
  std::string recording;    ///< the file; empty: a GPU
  bool integrated = false;  ///< it shares memory, heat and power with the CPU
};

}  // namespace tilesmith::tuner
