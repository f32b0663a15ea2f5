#include "db/exchange/vendor_json.hpp"

#include <fmt/format.h>

#include <limits>

namespace tilesmith::db {
namespace {

constexpr const char* kVendorMember = "vendor_times";

Json time_to_json(const VendorTime& time) {
  if (!(time.us > 0)) return nullptr;
  return {{"us", time.us}, {"spread", time.spread}, {"algorithm", time.algorithm}};
}

VendorTime time_from_json(const Json& json, const char* key) {
  if (!json.contains(key) || json[key].is_null()) return {};
  const Json& time = object_at(json, key);
  return {number_at(time, "us"), time.contains("spread") ? number_at(time, "spread") : 0, text_at(time, "algorithm", "")};
}

}  // namespace

Json to_json(const VendorTimes& times) {
  Json json{{"problem", text(times.problem)}, {"device", to_json(times.device)}};
  put_fields(json, times);
  json["first"] = time_to_json(times.first);
  json["best"] = time_to_json(times.best);
  json["beside"] = Json::array();
  if (times.id != 0) json["id"] = times.id;  // the order of its store
  for (const VendorTimes::Beside& one : times.beside)
    json["beside"].push_back({{"config", one.config.text()}, {"plan_hash", one.plan_hash}, {"median_us", one.median_us}});
  return json;
}

VendorTimes vendor_times_from_json(const Json& json) {
  constexpr std::int64_t kLargestId = std::numeric_limits<std::int64_t>::max();
  for (const char* required : {"vendor", "created_at"}) text_at(json, required);
  for (const char* required : {"offered", "timed", "samples"}) integer_at(json, required, 0, kLargestId);
  VendorTimes times = fields_from<VendorTimes>(json, {}, Missing::left);
  times.problem = problem_at(json, "problem");
  times.device = device_from_json(object_at(json, "device"));
  times.first = time_from_json(json, "first");
  times.best = time_from_json(json, "best");
  for (const Json& one : array_at(json, "beside"))
    times.beside.push_back({config_at(one, "config"), text_at(one, "plan_hash", ""), number_at(one, "median_us")});
  if (json.contains("id")) times.id = integer_at(json, "id", -kLargestId, kLargestId);
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
