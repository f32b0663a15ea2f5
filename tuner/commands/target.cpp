#include "tuner/commands/target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "runtime/compiler.hpp"
#include "tuner/commands/command.hpp"

namespace tilesmith::tuner {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return text;
}

std::string list_of(const std::vector<db::DeviceIdentity>& devices) {
  std::string result;
  for (const db::DeviceIdentity& device : devices) result += fmt::format("{}{}", result.empty() ? "" : "; ", db::text(device));
  return result;
}

TargetDevice stored(const db::DeviceIdentity& identity) {
  TargetDevice target;
  target.identity = identity;
  target.limits = limits_of(identity);
  return target;
}

TargetDevice present(const runtime::DeviceInfo& info) {
  return {info.identity, info.limits, info.clock_mhz, info.driver_version, true};
}

}  // namespace

DeviceLimits require_arch(std::string_view arch) {
  const auto limits = limits_for_arch(arch);
  if (!limits) throw UsageError(fmt::format("--arch '{}': unknown architecture; expected one of {}", arch, supported_archs()));
  return *limits;
}

runtime::DeviceInfo require_device(int ordinal, std::string_view advice) {
  const std::string missing = runtime::device_unavailable_because();
  if (!missing.empty()) throw UsageError(fmt::format("no GPU here: {}{}{}", missing, advice.empty() ? "" : "; ", advice));
  const std::vector<runtime::DeviceInfo> devices = runtime::list_devices();
  for (const runtime::DeviceInfo& info : devices) {
    if (info.ordinal == ordinal) return info;
  }
  throw UsageError(fmt::format("--device {}: no such device; expected 0{} (see `tilesmith devices`)", ordinal,
                               devices.size() > 1 ? fmt::format(" to {}", devices.size() - 1) : ""));
}

TargetDevice require_stored_device(const db::Store& store, const std::string& part) {
  const std::vector<db::DeviceIdentity> all = store.devices();
  std::vector<db::DeviceIdentity> matching;
  for (const db::DeviceIdentity& device : all) {
    if (lower(db::text(device)).find(lower(part)) != std::string::npos) matching.push_back(device);
  }
  if (matching.size() == 1) return stored(matching.front());
  if (all.empty()) throw UsageError(fmt::format("{}: holds evidence of no device yet", store.path().string()));
  if (matching.empty()) {
    throw UsageError(fmt::format("--device '{}': no such device in {}; expected part of one of: {}", part,
                                 store.path().string(), list_of(all)));
  }
  throw UsageError(fmt::format("--device{}: {} devices match in {}; expected part of exactly one of: {}",
                               part.empty() ? "" : fmt::format(" '{}'", part), matching.size(), store.path().string(),
                               list_of(matching)));
}

TargetDevice device_to_answer_for(const db::Store& store, const std::string& part) {
  if (part.empty()) {
    const std::vector<runtime::DeviceInfo> here = runtime::list_devices();
    if (!here.empty()) return present(here.front());
  }
  TargetDevice device = require_stored_device(store, part);
  for (const runtime::DeviceInfo& info : runtime::list_devices()) {
    if (info.identity == device.identity) return present(info);
  }
  return device;
}

db::Producer producer_now(std::span<const db::Evidence> entries, const std::string& family, const TargetDevice& device,
                          const KernelTarget& target) {
  const db::Evidence* newest = nullptr;
  for (const db::Evidence& entry : entries) {
    if (entry.config.family() != family) continue;
    if (newest == nullptr || entry.created_at > newest->created_at) newest = &entry;
  }
  db::Producer now;
  if (newest != nullptr) now = newest->producer;
  now.template_hash = template_hash(family);
  now.compiler_options = runtime::compiler_options_text(target);
  if (device.present) now.driver_version = device.driver_version;
  return now;
}

DeviceLimits limits_of(const db::DeviceIdentity& device) {
  const auto limits = limits_for_compute_capability(device.sm / 10, device.sm % 10);
  if (!limits) {
    throw UsageError(fmt::format("{}: sm_{} is not supported; expected one of {}", device.name, device.sm, supported_archs()));
  }
  return *limits;
}

std::string short_name(const db::DeviceIdentity& device) {
  if (device.power_mode.empty()) return device.name;
  return fmt::format("{} ({}, {} SMs)", device.name, device.power_mode, device.sm_count);
}

}  // namespace tilesmith::tuner
