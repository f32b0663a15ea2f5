// tilesmith devices: the GPUs here, what the machine tells of itself, and those a database knows.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "runtime/compile/compiler.hpp"
#include "runtime/driver/jetson_state.hpp"
#include "tuner/bests/bests_today.hpp"
#include "tuner/cli/commands/command.hpp"
#include "tuner/cli/output/jetson_report.hpp"
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
  Json json;
  json["text"] = db::text(identity);
  json["name"] = identity.name;
  json["sm"] = identity.sm;
  json["sm_count"] = identity.sm_count;
  json["l2_bytes"] = identity.l2_bytes;
  json["smem_per_sm_bytes"] = identity.smem_per_sm_bytes;
  json["bandwidth_class_gbps"] = identity.bandwidth_class_gbps;
  json["power_mode"] = identity.power_mode;
  return json;
}

/// What is at hand to compile with: "NVRTC 12.6", or why there is none.
std::string nvrtc_text() {
  const std::string missing = runtime::nvrtc_unavailable_because();
  return missing.empty() ? "NVRTC " + runtime::nvrtc_version() : "no NVRTC: " + missing;
}

Json nvrtc_json() {
  const std::string missing = runtime::nvrtc_unavailable_because();
  Json json;
  json["version"] = missing.empty() ? Json(runtime::nvrtc_version()) : Json(nullptr);
  json["absent_because"] = missing.empty() ? Json(nullptr) : Json(missing);
  return json;
}

std::string as_json(const std::vector<runtime::DeviceInfo>& here, const std::vector<Known>& known,
                    const runtime::JetsonState& jetson) {
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
  using Align = TextTable::Align;
  std::string out;
  if (here.empty()) {
    out = fmt::format("no GPU here: {}\n", runtime::device_unavailable_because());
  } else {
    TextTable table({{"here", Align::right}, {"name"}, {"arch"}, {"SMs", Align::right}, {"MHz", Align::right},
                     {"memory", Align::right}, {"L2", Align::right}, {"GB/s", Align::right},
                     {"f16f32 peak TFLOP/s", Align::right}, {"driver"}, {"power mode"}});
    for (const runtime::DeviceInfo& info : here) {
      const db::DeviceIdentity& id = info.identity;
      table.add({std::to_string(info.ordinal), id.name, arch_cell(info), std::to_string(id.sm_count),
                 info.clock_mhz > 0 ? fmt::format("{:.0f}", info.clock_mhz) : "-", format_bytes(double(info.memory_bytes)),
                 format_bytes(double(id.l2_bytes)), id.bandwidth_class_gbps > 0 ? std::to_string(id.bandwidth_class_gbps) : "-",
                 peak_cell(info), info.driver_version, id.power_mode.empty() ? "-" : id.power_mode});
    }
    out = table.text(width, "--format json");
  }
  out += nvrtc_text() + "\n";
  if (!jetson.empty()) out += jetson_text(jetson, runtime::jetson_power_mode());
  if (known.empty()) return out + "no device in the database\n";
  TextTable table({{"in the database"}, {"SMs", Align::right}, {"L2", Align::right}, {"GB/s", Align::right}, {"power mode"},
                   {"problems", Align::right}, {"as text"}});
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
  const TextFormat format = parse_text_format(options.format);
  if (format == TextFormat::csv) throw UsageError("--format 'csv': expected table or json");
  const std::vector<runtime::DeviceInfo> here = runtime::list_devices();
  const std::vector<Known> known = known_devices(options);
  const runtime::JetsonState jetson = runtime::read_jetson_state(runtime::jetson_root());
  write_result(format == TextFormat::json ? as_json(here, known, jetson) : as_text(here, known, jetson, stdout_width()));
  return kExitOk;
}

}  // namespace

Command add_devices(CLI::App& program) {
  CLI::App* app = program.add_subcommand("devices", "The GPUs here, what this machine tells of itself, and the GPUs the database knows");
  const auto options = std::make_shared<DevicesOptions>();
  app->add_option("--format", options->format, "table or json")->type_name("FORMAT")->capture_default_str();
  add_database_option(*app, options->db);
  app->footer(
      "Any part of a device's text, as printed in the last column or below its line, serves as --device of query, explain and\n"
      "export. A device that ran another architecture's code (tune --as sm_87) is meant only by a part that says so: 'H200 as sm_87'.\n"
      "On a Jetson, clock, heat, cooling, power and power mode are shown as the tuner reads them. They are read under the folder\n"
      "that TILESMITH_SYSFS_ROOT names, default /.\n"
      "\nExample:\n"
      "  tilesmith devices --format json");
  return {app, [options] { return run_devices(*options); }};
}

}  // namespace tilesmith::tuner
