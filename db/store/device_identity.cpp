#include "db/store/device_identity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace tilesmith::db {
namespace {

constexpr std::string_view kAs = " as ";  // between a device's name and the architecture whose code it ran
constexpr std::string_view kSaysAs = "as sm_";

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return text;
}

}  // namespace

std::string text(const DeviceIdentity& device) {
  std::string result = fmt::format("{}/sm_{}/{}SM/L2={}/smem={}/{}GBps", device.name, device.sm, device.sm_count,
      device.l2_bytes, device.smem_per_sm_bytes, device.bandwidth_class_gbps);
  if (!device.power_mode.empty()) result += "/" + device.power_mode;
  return result;
}

DeviceIdentity identity_as(DeviceIdentity device, const DeviceLimits& limits) {
  device.name.append(kAs).append(limits.arch);
  device.sm = limits.sm;
  device.smem_per_sm_bytes = limits.smem_per_sm_bytes;
  return device;
}

std::string ran_as(const DeviceIdentity& device) {
  const std::size_t at = device.name.rfind(kAs);
  if (at == std::string::npos) return {};
  std::string arch = device.name.substr(at + kAs.size());
  return limits_for_arch(arch) ? arch : std::string();
}

double sm_doublings(const DeviceIdentity& a, const DeviceIdentity& b) {
  return std::abs(std::log2(std::max(1, a.sm_count) / double(std::max(1, b.sm_count))));
}

bool are_similar(const DeviceIdentity& a, const DeviceIdentity& b) {
  return a.sm == b.sm && ran_as(a) == ran_as(b) && sm_doublings(a, b) <= 1;
}

bool is_meant_by(const DeviceIdentity& device, std::string_view part) {
  const std::string wanted = lower(std::string(part));
  if (!ran_as(device).empty() && wanted.find(kSaysAs) == std::string::npos) return false;
  return lower(text(device)).find(wanted) != std::string::npos;
}

bool is_text_of(const DeviceIdentity& device, std::string_view whole) {
  return lower(text(device)) == lower(std::string(whole));
}

std::vector<DeviceIdentity> meant_by(const std::vector<DeviceIdentity>& devices, std::string_view part) {
  std::vector<DeviceIdentity> found;
  for (const DeviceIdentity& device : devices) {
    if (is_text_of(device, part)) return {device};
    if (is_meant_by(device, part)) found.push_back(device);
  }
  return found;
}

}  // namespace tilesmith::db
