#include "runtime/driver/nvml.hpp"

#include <array>
#include <regex>
#include <string_view>

#include "runtime/driver/shared_library.hpp"
#include "runtime/driver/sysfs.hpp"

namespace tilesmith::runtime {
namespace {

// Types and values as in NVML's interface, which has kept them since its first release; nvmlReturn_t 0 is success.
using Device = struct NvmlDevice*;
constexpr int kClockSm = 1;         // NVML_CLOCK_SM
constexpr int kTemperatureGpu = 0;  // NVML_TEMPERATURE_GPU

struct Nvml {
  int (*init)() = nullptr;
  int (*driver_version)(char* text, unsigned bytes) = nullptr;
  int (*device_by_pci_bus_id)(const char* id, Device* device) = nullptr;
  int (*clock)(Device device, int which, unsigned* mhz) = nullptr;
  int (*temperature)(Device device, int sensor, unsigned* celsius) = nullptr;
  int (*power)(Device device, unsigned* milliwatt) = nullptr;
  int (*throttle_reasons)(Device device, unsigned long long* mask) = nullptr;
};

/// Empty members where this NVML has no such function.
Nvml load_nvml() {
  std::string error;
  SharedLibrary library = SharedLibrary::open("libnvidia-ml.so.1", error);
  if (!library) return {};
  Nvml nvml;
  const auto resolve = [&](auto& function, const char* symbol) {
    if (function == nullptr)
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(library.symbol(symbol));
  };
  resolve(nvml.init, "nvmlInit_v2");
  if (nvml.init == nullptr || nvml.init() != 0) return {};
  resolve(nvml.driver_version, "nvmlSystemGetDriverVersion");
  resolve(nvml.device_by_pci_bus_id, "nvmlDeviceGetHandleByPciBusId_v2");
  resolve(nvml.clock, "nvmlDeviceGetClockInfo");
  resolve(nvml.temperature, "nvmlDeviceGetTemperature");
  resolve(nvml.power, "nvmlDeviceGetPowerUsage");
  resolve(nvml.throttle_reasons, "nvmlDeviceGetCurrentClocksEventReasons");     // its name from R535 on
  resolve(nvml.throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");  // and before
  library.keep_open();
  return nvml;
}

const Nvml& nvml() {
  static const Nvml loaded = load_nvml();
  return loaded;
}

/// One value of a device, or nullopt if NVML lacks the function or refuses ("not supported").
template <typename Value, typename... Arguments>
std::optional<Value> ask(int (*function)(Device, Arguments...), Device device, auto... leading) {
  Value value{};
  if (function == nullptr || function(device, leading..., &value) != 0) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::string> driver_version_in(const std::string& proc_text) {
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 ..."
  static const std::regex kVersion(R"(\s(\d{3,}\.\d+(\.\d+)*)\s)");
  std::smatch match;
  const std::string line = proc_text.substr(0, proc_text.find('\n')) + " ";
  if (!std::regex_search(line, match, kVersion)) return std::nullopt;
  return match[1].str();
}

std::optional<std::string> kernel_module_version(const std::filesystem::path& root) {
  if (auto version = driver_version_in(text_of(root / "proc/driver/nvidia/version"))) return version;
  return driver_version_in(" " + text_of(root / "sys/module/nvidia/version"));  // the version alone
}

std::optional<std::string> installed_driver_version(const std::filesystem::path& root) {
  std::array<char, 96> text{};
  if (nvml().driver_version != nullptr && nvml().driver_version(text.data(), unsigned(text.size())) == 0 &&
      text[0] != '\0') {
    return std::string(text.data());
  }
  return kernel_module_version(root);
}

NvmlReading read_nvml(const std::string& pci_bus_id) {
  NvmlReading reading;
  Device device = nullptr;
  if (nvml().device_by_pci_bus_id == nullptr || nvml().device_by_pci_bus_id(pci_bus_id.c_str(), &device) != 0)
    return reading;
  reading.clock_mhz = ask<unsigned>(nvml().clock, device, kClockSm);
  reading.temperature_c = ask<unsigned>(nvml().temperature, device, kTemperatureGpu);
  reading.power_mw = ask<unsigned>(nvml().power, device);
  reading.throttle_reasons = ask<unsigned long long>(nvml().throttle_reasons, device);
  return reading;
}

ThrottleVerdict judge_throttling(unsigned long long reasons) {
  struct Reason {
    unsigned long long bit;
    bool throttles;
    std::string_view text;
  };
  // nvmlClocksEventReason*. Idle, set clocks and display clocks are how the device was told to run.
  constexpr std::array kReasons{
      Reason{0x08, true, "hardware slowdown"},
      Reason{0x20, true, "software thermal slowdown"},
      Reason{0x40, true, "hardware thermal slowdown"},
      Reason{0x80, true, "hardware power brake"},
      Reason{0x04, false, "power cap"},
  };
  ThrottleVerdict verdict;
  for (const Reason& reason : kReasons) {
    if ((reasons & reason.bit) == 0) continue;
    verdict.throttled = verdict.throttled || reason.throttles;
    if (!verdict.reason.empty()) verdict.reason += ", ";
    verdict.reason += reason.text;
  }
  return verdict;
}

}  // namespace tilesmith::runtime
