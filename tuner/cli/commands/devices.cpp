// tilesmith devices: the GPUs here, what the machine tells of itself, and those a database knows.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "db/exchange/record_json.hpp"
#include "runtime/compile/compiler.hpp"
#include "runtime/driver/jetson_state.hpp"
#include "tuner/bests/bests_today.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/options/options.hpp"
#include "tuner/cli/output/output.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/cli/output/terminal.hpp"
#include "tuner/figures.hpp"
#include "tuner/peaks.hpp"

namespace tilesmith::tuner {
namespace {

using Json = nlohmann::ordered_json;

struct DevicesOptions {
  std::string format = "table", db;
};

struct Known {
  db::DeviceIdentity identity;
  std::size_t bests = 0;
};

/// A default database that was never made is no error here; one that was named is.
std::vector<Known> known_devices(const DevicesOptions& options) {
  const std::filesystem::path path = database_path(options.db);
  std::error_code ignored;
  if (options.db.empty() && !std::filesystem::exists(path, ignored)) return {};
  const db::Store store = db::Store::open_read_only(path);
  std::vector<Known> known;
  for (const db::DeviceIdentity& identity : store.devices()) known.push_back({identity, 0});
  for (const db::JudgedBest& best : bests_today(store, {}, false).bests) {
    const auto of_device = std::ranges::find(known, best.record.device, &Known::identity);
    if (of_device != known.end()) ++of_device->bests;
  }
  return known;
}

Json json_of(const db::DeviceIdentity& identity) {
  Json json{{"text", db::text(identity)}};
  json.update(db::to_json(identity));
  return json;
}

/// What is at hand to compile with: "NVRTC 12.6", or why there is none.
std::string nvrtc_text() {
  const std::string missing = runtime::nvrtc_unavailable_because();
  return missing.empty() ? "NVRTC " + runtime::nvrtc_version() : "no NVRTC: " + missing;
}

Json nvrtc_json() {
  const std::string missing = runtime::nvrtc_unavailable_because();
  return {{"version", missing.empty() ? Json(runtime::nvrtc_version()) : Json(nullptr)},
      {"absent_because", missing.empty() ? Json(nullptr) : Json(missing)}};
}

// What a Jetson tells of itself, so that a user can check what the tuner goes by.

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

/// The texts that are not empty; `none` if all are.
std::string comma_list(const auto& list, auto text, const char* none) {
  std::string line;
  for (const auto& item : list) {
    const std::string one = text(item);
    if (!one.empty()) line += (line.empty() ? "" : ", ") + one;
  }
  return line.empty() ? none : line;
}

std::string jetson_text(const JetsonState& state, const std::string& power_mode) {
  const auto zone_text = [](const ThermalZone& zone) {
    if (!zone.temperature_c) return std::string();
    const auto& limit = zone.throttles_at_c;
    return fmt::format(
        "{} {:.1f}{}", zone.type, *zone.temperature_c, limit ? fmt::format(" (throttles at {:g})", *limit) : "");
  };
  const auto cooling_text = [](const CoolingDevice& device) {
    if (device.state == 0) return std::string();
    return fmt::format("{} {}{}", device.type, device.state, device.most ? fmt::format(" of {}", *device.most) : "");
  };
  const auto rail_text = [](const PowerRail& rail) { return fmt::format("{} {:.1f}", rail.label, rail.watt); };
  const runtime::ThrottleVerdict verdict = judge_throttling(state);
  std::string out = fmt::format("{}, power mode {}\n", state.model.empty() ? "Jetson" : state.model,
      power_mode.empty() ? "not told" : power_mode);
  out += fmt::format("  GPU clock      {}\n", clock_text(state.gpu));
  out += fmt::format("  heat, C        {}\n", comma_list(state.zones, zone_text, "not told"));
  out += fmt::format("  cooling        {}\n", comma_list(state.cooling, cooling_text, "none at work"));
  out += fmt::format("  power, W       {}\n", comma_list(state.rails, rail_text, "not told"));
  if (state.over_current_events)
    out += fmt::format("  over-current   {} since the start\n", *state.over_current_events);
  out += fmt::format("  throttled      {}\n", verdict.throttled ? "yes: " + verdict.reason : "no");
  for (const std::string& complaint : state.complaints) out += fmt::format("  not understood {}\n", complaint);
  return out;
}

/// null where a value is not told.
Json jetson_json(const JetsonState& state, const std::string& power_mode) {
  const ThermalZone* zone = state.gpu_zone();
  const runtime::ThrottleVerdict verdict = judge_throttling(state);
  Json zones = Json::array(), cooling = Json::array(), rails = Json::array();
  std::optional<double> hottest;
  for (const ThermalZone& each : state.zones) {
    zones.push_back({{"type", each.type}, {"temperature_c", json_of(each.temperature_c)},
        {"throttles_at_c", json_of(each.throttles_at_c)}});
    hottest = std::max(hottest, each.temperature_c);  // none is less than any
  }
  for (const CoolingDevice& device : state.cooling)
    cooling.push_back({{"type", device.type}, {"state", device.state}, {"most", json_of(device.most)}});
  for (const PowerRail& rail : state.rails) rails.push_back({{"label", rail.label}, {"watt", rail.watt}});
  return {{"model", state.model}, {"power_mode", power_mode},
      {"gpu_clock", {{"device", state.gpu.device}, {"governor", state.gpu.governor},
                        {"mhz", json_of(state.gpu.current_mhz)}, {"min_mhz", json_of(state.gpu.min_mhz)},
                        {"max_mhz", json_of(state.gpu.max_mhz)}, {"locked", state.gpu.locked()}}},
      {"gpu_temperature_c", zone != nullptr ? json_of(zone->temperature_c) : Json(nullptr)}, {"zones", zones},
      {"hottest_c", json_of(hottest)}, {"cooling", cooling}, {"rails", rails},
      {"over_current_events", json_of(state.over_current_events)},
      {"throttled_because", verdict.throttled ? Json(verdict.reason) : Json(nullptr)},
      {"not_understood", state.complaints}};
}

std::string as_json(
    const std::vector<runtime::DeviceInfo>& here, const std::vector<Known>& known, const runtime::JetsonState& jetson) {
  Json json;
  json["present"] = Json::array();
  for (const runtime::DeviceInfo& info : here) {
    Json one = json_of(info.identity);
    one["ordinal"] = info.ordinal;
    one["arch"] = info.limits.arch;
    one["supported"] = !info.limits.arch.empty();
    one["driver_version"] = info.driver_version;
    one["memory_bytes"] = info.memory_bytes;
    one["clock_mhz"] = info.clock_mhz;
    one["integrated"] = info.integrated;
    json["present"].push_back(std::move(one));
  }
  json["absent_because"] = here.empty() ? Json(runtime::device_unavailable_because()) : Json(nullptr);
  json["nvrtc"] = nvrtc_json();
  json["jetson"] = jetson.empty() ? Json(nullptr) : jetson_json(jetson, runtime::jetson_power_mode());
  json["known"] = Json::array();
  for (const Known& device : known) {
    Json one = json_of(device.identity);
    one["bests"] = device.bests;
    json["known"].push_back(std::move(one));
  }
  return json_text(json);
}

/// Of an architecture for which there are no kernels: its own, marked.
std::string arch_cell(const runtime::DeviceInfo& info) {
  return info.limits.arch.empty() ? fmt::format("sm_{}, not supported", info.identity.sm) : info.limits.arch;
}

std::string peak_cell(const runtime::DeviceInfo& info) {
  const auto peak = peak_tflops(info.identity, *find_type_pair("f16f32"), info.clock_mhz);
  return peak ? format_tflops(*peak) : "-";
}

std::string as_text(const std::vector<runtime::DeviceInfo>& here, const std::vector<Known>& known,
    const runtime::JetsonState& jetson, std::size_t width) {
  std::string out;
  if (here.empty()) {
    out = fmt::format("no GPU here: {}\n", runtime::device_unavailable_because());
  } else {
    TextTable table({">here", "name", "arch", ">SMs", ">MHz", ">memory", ">L2", ">GB/s", ">f16f32 peak TFLOP/s",
        "driver", "power mode"});
    for (const runtime::DeviceInfo& info : here) {
      const db::DeviceIdentity& id = info.identity;
      table.add({std::to_string(info.ordinal), id.name, arch_cell(info), std::to_string(id.sm_count),
          info.clock_mhz > 0 ? fmt::format("{:.0f}", info.clock_mhz) : "-", format_bytes(double(info.memory_bytes)),
          format_bytes(double(id.l2_bytes)),
          id.bandwidth_class_gbps > 0 ? std::to_string(id.bandwidth_class_gbps) : "-", peak_cell(info),
          info.driver_version, id.power_mode.empty() ? "-" : id.power_mode});
    }
    out = table.text(width, "--format json");
  }
  out += nvrtc_text() + "\n";
  if (!jetson.empty()) out += jetson_text(jetson, runtime::jetson_power_mode());
  if (known.empty()) return out + "no device in the database\n";
  TextTable table({"in the database", ">SMs", ">L2", ">GB/s", "power mode", ">problems", "as text"});
  for (const Known& device : known) {
    const db::DeviceIdentity& id = device.identity;
    table.add({id.name, std::to_string(id.sm_count), format_bytes(double(id.l2_bytes)),
        id.bandwidth_class_gbps > 0 ? std::to_string(id.bandwidth_class_gbps) : "-",
        id.power_mode.empty() ? "-" : id.power_mode, std::to_string(device.bests), db::text(id)});
  }
  table.hang_from(6);  // it is there to be copied
  return out + "\n" + table.text(width, "--format json");
}

int run_devices(const DevicesOptions& options) {
  const TextFormat format = parse_text_format(options.format, false);
  const std::vector<runtime::DeviceInfo> here = runtime::list_devices();
  const std::vector<Known> known = known_devices(options);
  const runtime::JetsonState jetson = runtime::read_jetson_state(runtime::jetson_root());
  write_result(
      format == TextFormat::json ? as_json(here, known, jetson) : as_text(here, known, jetson, stdout_width()));
  return kExitOk;
}

}  // namespace

Command add_devices(CLI::App& program) {
  const auto [app, options, add] = new_command<DevicesOptions>(
      program, "devices", "The GPUs here, what this machine tells of itself, and the GPUs the database knows");
  add("--format", options->format, "FORMAT", "table or json");
  add_database_option(*app, options->db);
  app->footer(
      "Any part of a device's text, as printed in the last column or below its line, serves as --device of query, explain and\n"
      "export. A device that ran another architecture's code (tune --as sm_87) is meant only by a part that says so: 'H200 as sm_87'.\n"
      "On a Jetson, clock, heat, cooling, power and power mode are shown as the tuner reads them. They are read under the folder\n"
      "that TILESMITH_SYSFS_ROOT names, default /.\n"
      "\nExample:\n"
      "  tilesmith devices --format json");
  return {app, [options = options] { return run_devices(*options); }};
}

}  // namespace tilesmith::tuner
