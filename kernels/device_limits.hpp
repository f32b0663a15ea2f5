// What a device allows a kernel: the limits that decide which configs are legal, and the rates that estimates go by.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tilesmith {

struct DeviceLimits {
  std::string arch;               ///< NVRTC's name of the target: "sm_87", "sm_90a"
  int sm = 0;                     ///< 10·major + minor
  int smem_per_block_bytes = 0;   ///< largest dynamic + static shared memory a block may opt in to
  int smem_per_sm_bytes = 0;
  int registers_per_sm = 65536;
  int registers_per_thread = 255;
  int threads_per_block = 1024;
  int threads_per_sm = 2048;
  int blocks_per_sm = 32;
  int sm_count = 0;               ///< of the device at hand; by architecture name, of its best-known device

  /// Of an SM and clock cycle, on the architecture's best-known device.
  struct Rates {
    double products = 1024;  ///< multiply-adds of 16-bit operands by mma.sync
    double products_f64 = 64;
    double l2_bytes = 40;
    double dram_bytes = 10;
    double mhz = 1755;  ///< the clock that turns cycles into a time where none was measured
  } rates;
};

/// Limits by architecture name ("sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a"), or nullopt.
/// Figures: CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability".
std::optional<DeviceLimits> limits_for_arch(std::string_view arch);

/// The architecture that Tilesmith compiles for on a device of this compute capability (90 → "sm_90a"), or nullopt
/// if it is not supported.
std::optional<DeviceLimits> limits_for_compute_capability(int major, int minor);

/// "sm_87" → the limits of sm_87 under the name "compute_87", of which NVRTC makes PTX; nullopt if it is unknown.
std::optional<DeviceLimits> virtual_limits(std::string_view arch);
/// The limits of whatever NVRTC may be told to compile for: "sm_87", or "compute_87" with the limits of sm_87; nullopt if it is unknown.
std::optional<DeviceLimits> limits_for_target(std::string_view target);

/// Names of all supported architectures, comma-separated, for error messages.
std::string supported_archs();

}  // namespace tilesmith
