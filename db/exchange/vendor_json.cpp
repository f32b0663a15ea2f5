#include "db/exchange/vendor_json.hpp"

#include <fmt/format.h>

#include <limits>

namespace tilesmith::db {
namespace {

constexpr const char* kVendorMember = "vendor_times";
constexpr std::int64_t kMostCounted = std::numeric_limits<int>::max();

Json time_to_json(const VendorTime& time) {
  if (!(time.us > 0)) return nullptr;
  return {{"us", time.us}, {"spread", time.spread}, {"algorithm", time.algorithm}};
}

VendorTime time_from_json(const Json& json, const char* key) {
  if (!json.contains(key) || json[key].is_null()) return {};
  const Json& time = object_at(json, key);
  return {number_at(time, "us"), number_at(time, "spread", 0), text_at(time, "algorithm", "")};
}

}  // namespace

Json to_json(const VendorTimes& times) {
  Json json{{"problem", text(times.problem)},
            {"device", to_json(times.device)},
            {"vendor", times.vendor},
            {"vendor_version", times.vendor_version},
            {"driver_version", times.driver_version},
            {"measuring_policy", times.measuring_policy},
            {"message", times.message},
            {"offered", times.offered},
            {"timed", times.timed},
            {"first", time_to_json(times.first)},
            {"best", time_to_json(times.best)},
            {"samples", times.samples},
            {"clock_mhz", times.clock_mhz},
            {"temperature_c", times.temperature_c},
            {"power_w", times.power_w},
            {"drift", times.drift},
            {"beside", Json::array()},
            {"run", times.run},
            {"origin", times.origin},
            {"created_at", times.created_at}};
  if (times.id != 0) json["id"] = times.id;  // the order of its store
  for (const VendorTimes::Beside& one : times.beside)
    json["beside"].push_back({{"config", one.config.text()}, {"plan_hash", one.plan_hash}, {"median_us", one.median_us}});
  return json;
}

VendorTimes vendor_times_from_json(const Json& json) {
  VendorTimes times;
  std::string error;
  const auto problem = parse_problem(text_at(json, "problem"), error);
  if (!problem) throw FormatError("\"problem\": " + error);
  times.problem = *problem;
  times.device = device_from_json(object_at(json, "device"));
  times.vendor = text_at(json, "vendor");
  times.vendor_version = text_at(json, "vendor_version", "");
  times.driver_version = text_at(json, "driver_version", "");
  times.measuring_policy = text_at(json, "measuring_policy", "");
  times.message = text_at(json, "message", "");
  times.offered = int(integer_at(json, "offered", 0, kMostCounted));
  times.timed = int(integer_at(json, "timed", 0, kMostCounted));
  times.first = time_from_json(json, "first");
  times.best = time_from_json(json, "best");
  times.samples = int(integer_at(json, "samples", 0, kMostCounted));
  times.clock_mhz = number_at(json, "clock_mhz", 0);
  times.temperature_c = number_at(json, "temperature_c", 0);
  times.power_w = number_at(json, "power_w", 0);
  times.drift = number_at(json, "drift", 1);
  for (const Json& one : array_at(json, "beside")) {
    const std::string config_text = text_at(one, "config");
    const auto config = Config::parse(config_text);
    if (!config) throw FormatError(fmt::format("\"config\" is '{}': expected 'family{{parameter=value,...}}'", config_text));
    times.beside.push_back({*config, text_at(one, "plan_hash", ""), number_at(one, "median_us")});
  }
  times.run = text_at(json, "run", "");
  times.origin = text_at(json, "origin", "");
  times.created_at = text_at(json, "created_at");
  if (json.contains("id")) times.id = integer_at(json, "id", -std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::max());
  if (const auto wrong = vendor_times_error(times)) throw FormatError(*wrong);
  return times;
}

Json vendor_times_to_json(const std::vector<VendorTimes>& all) {
  Json json = Json::array();
  for (const VendorTimes& times : all) json.push_back(to_json(times));
  return json;
}

std::vector<VendorTimes> vendor_times_of(const Json& file) {
  std::vector<VendorTimes> all;
  if (!file.contains(kVendorMember)) return all;
  for (const Json& entry : array_at(file, kVendorMember)) {
    try {
      all.push_back(vendor_times_from_json(entry));
    } catch (const FormatError& error) {
      throw FormatError(fmt::format("{}, entry {}: {}", kVendorMember, all.size() + 1, error.what()));
    }
  }
  return all;
}

}  // namespace tilesmith::db
