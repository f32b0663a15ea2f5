#include "tuner/target_device.hpp"

#include "runtime/choose/choosers.hpp"

namespace tilesmith::tuner {

TargetDevice present_device(const runtime::DeviceInfo& info) {
  return {info.identity, info.limits, info.clock_mhz, info.driver_version, true};
}

std::optional<DeviceLimits> limits_of(const db::DeviceIdentity& device) {
  if (const auto limits = virtual_limits(db::ran_as(device))) return limits;
  return limits_for_sm(device.sm);
}

db::Environment environment_to_judge_by(
    std::span<const db::Record> entries, const std::string& family, const TargetDevice& device) {
  return runtime::environment_to_judge_by(
      entries, family, device.identity, {{}, device.limits}, device.present ? device.driver_version : std::string());
}

}  // namespace tilesmith::tuner
