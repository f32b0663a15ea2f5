#include <array>
#include <mutex>
#include <string>

#include "runtime/driver/device.hpp"
#include "runtime/driver/driver.hpp"
#include "runtime/driver/jetson_state.hpp"
#include "runtime/driver/nvml.hpp"

namespace tilesmith::runtime {
namespace {

Telemetry read_jetson() {
  static OverCurrentWatch watch;
  static std::mutex mutex;
  const JetsonState state = read_jetson_state(jetson_root());
  Telemetry telemetry = telemetry_of(state);
  const std::lock_guard lock(mutex);
  if (const std::string reason = watch.since_last(state); !reason.empty()) {
    telemetry.throttled = true;
    telemetry.throttle_reason += (telemetry.throttle_reason.empty() ? "" : ", ") + reason;
  }
  return telemetry;
}

}  // namespace

Telemetry read_telemetry(int ordinal) {
  const Driver* table = driver_or_null();
  CUdevice device = 0;
  if (table == nullptr || table->device_get(&device, ordinal) != CUDA_SUCCESS) return {};
  if (attribute_of(*table, device, CU_DEVICE_ATTRIBUTE_INTEGRATED) != 0) return read_jetson();

  std::array<char, 64> bus_id{};
  if (table->device_get_pci_bus_id(bus_id.data(), int(bus_id.size()), device) != CUDA_SUCCESS) return {};
  const NvmlReading reading = read_nvml(bus_id.data());
  Telemetry telemetry;
  telemetry.clock_mhz = reading.clock_mhz.value_or(0);
  telemetry.temperature_c = reading.temperature_c.value_or(0);
  telemetry.power_w = reading.power_mw.value_or(0) / 1e3;
  const ThrottleVerdict verdict = judge_throttling(reading.throttle_reasons.value_or(0));
  telemetry.throttled = verdict.throttled;
  telemetry.throttle_reason = verdict.reason;
  return telemetry;
}

}  // namespace tilesmith::runtime
