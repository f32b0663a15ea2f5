#include "tuner/cli/output/jetson_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace tilesmith::tuner {
namespace {

using Json = nlohmann::ordered_json;
using runtime::CoolingDevice;
using runtime::JetsonState;
using runtime::PowerRail;
using runtime::ThermalZone;

std::string figure(const std::optional<double>& value) { return value ? fmt::format("{:g}", *value) : "-"; }

template <typename Value>
Json json_of(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string clock_text(const runtime::GpuClock& gpu) {
  if (gpu.device.empty()) return "not told";
  return fmt::format("{} MHz, from {} to {} ({}{}{})", figure(gpu.current_mhz), figure(gpu.min_mhz),
                     figure(gpu.max_mhz), gpu.device, gpu.governor.empty() ? "" : ", governor " + gpu.governor,
                     gpu.locked() ? ", locked" : "");
}

template <typename List, typename Text>
std::string comma_list(const List& list, Text text) {
  std::string line;
  for (const auto& item : list) {
    const std::string one = text(item);
    if (!one.empty()) line += (line.empty() ? "" : ", ") + one;
  }
  return line;
}

}  // namespace

std::string jetson_text(const JetsonState& state, const std::string& power_mode) {
  const std::string heat = comma_list(state.zones, [](const ThermalZone& zone) {
    if (!zone.temperature_c) return std::string();
    return fmt::format("{} {:.1f}{}", zone.type, *zone.temperature_c,
                       zone.throttles_at_c ? fmt::format(" (throttles at {:g})", *zone.throttles_at_c) : "");
  });
  const std::string cooling = comma_list(state.cooling, [](const CoolingDevice& device) {
    if (device.state == 0) return std::string();
    return fmt::format("{} {}{}", device.type, device.state, device.most ? fmt::format(" of {}", *device.most) : "");
  });
  const std::string power =
      comma_list(state.rails, [](const PowerRail& rail) { return fmt::format("{} {:.1f}", rail.label, rail.watt); });
  const runtime::ThrottleVerdict verdict = judge_throttling(state);

  std::string out = fmt::format("{}, power mode {}\n", state.model.empty() ? "Jetson" : state.model,
                                power_mode.empty() ? "not told" : power_mode);
  out += fmt::format("  GPU clock      {}\n", clock_text(state.gpu));
  out += fmt::format("  heat, C        {}\n", heat.empty() ? "not told" : heat);
  out += fmt::format("  cooling        {}\n", cooling.empty() ? "none at work" : cooling);
  out += fmt::format("  power, W       {}\n", power.empty() ? "not told" : power);
  if (state.over_current_events)
    out += fmt::format("  over-current   {} since the start\n", *state.over_current_events);
  out += fmt::format("  throttled      {}\n", verdict.throttled ? "yes: " + verdict.reason : "no");
  for (const std::string& complaint : state.complaints) out += fmt::format("  not understood {}\n", complaint);
  return out;
}

Json jetson_json(const JetsonState& state, const std::string& power_mode) {
  Json json;
  json["model"] = state.model;
  json["power_mode"] = power_mode;
  json["gpu_clock"] = {{"device", state.gpu.device},
                       {"governor", state.gpu.governor},
                       {"mhz", json_of(state.gpu.current_mhz)},
                       {"min_mhz", json_of(state.gpu.min_mhz)},
                       {"max_mhz", json_of(state.gpu.max_mhz)},
                       {"locked", state.gpu.locked()}};
  const ThermalZone* zone = state.gpu_zone();
  json["gpu_temperature_c"] = zone != nullptr ? json_of(zone->temperature_c) : Json(nullptr);
  json["zones"] = Json::array();
  std::optional<double> hottest;
  for (const ThermalZone& each : state.zones) {
    json["zones"].push_back({{"type", each.type},
                             {"temperature_c", json_of(each.temperature_c)},
                             {"throttles_at_c", json_of(each.throttles_at_c)}});
    if (each.temperature_c) hottest = std::max(hottest.value_or(*each.temperature_c), *each.temperature_c);
  }
  json["hottest_c"] = json_of(hottest);
  json["cooling"] = Json::array();
  for (const CoolingDevice& device : state.cooling)
    json["cooling"].push_back({{"type", device.type}, {"state", device.state}, {"most", json_of(device.most)}});
  json["rails"] = Json::array();
  for (const PowerRail& rail : state.rails) json["rails"].push_back({{"label", rail.label}, {"watt", rail.watt}});
  json["over_current_events"] = json_of(state.over_current_events);
  const runtime::ThrottleVerdict verdict = judge_throttling(state);
  json["throttled_because"] = verdict.throttled ? Json(verdict.reason) : Json(nullptr);
  json["not_understood"] = state.complaints;
  return json;
}

}  // namespace tilesmith::tuner
