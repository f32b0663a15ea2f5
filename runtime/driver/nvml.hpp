// NVML, opened at run time: clocks, heat, power, and the driver's version. Nothing here throws or fails: what NVML does
// not tell is nullopt.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace tilesmith::runtime {

/// "580.65.06": from NVML, else from the kernel module's files under `root`.
std::optional<std::string> installed_driver_version(const std::filesystem::path& root = "/");

/// From proc/driver/nvidia/version, else from sys/module/nvidia/version: containers often have the one without the
/// other, or neither.
std::optional<std::string> kernel_module_version(const std::filesystem::path& root);

/// The version in the text of /proc/driver/nvidia/version.
std::optional<std::string> driver_version_in(const std::string& proc_text);

struct NvmlReading {
  std::optional<unsigned> clock_mhz;
  std::optional<unsigned> temperature_c;
  std::optional<unsigned> power_mw;
  std::optional<unsigned long long> throttle_reasons;  ///< NVML's mask
};

/// The device at this PCI bus id, as cuDeviceGetPCIBusId writes it: NVML counts devices in another order than CUDA.
NvmlReading read_nvml(const std::string& pci_bus_id);

struct ThrottleVerdict {
  bool throttled = false;  ///< heat or a power brake slows the clocks: a time taken now is no record
  std::string reason;      ///< "thermal slowdown, power cap"; the power cap alone is how a large GEMM runs
};
ThrottleVerdict judge_throttling(unsigned long long reasons);

}  // namespace tilesmith::runtime
