#include "db/exchange/record_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "db/exchange/json_depth.hpp"

namespace tilesmith::db {
namespace {

constexpr std::int64_t kLargestInt = std::numeric_limits<int>::max();
constexpr std::int64_t kLargestId = std::numeric_limits<std::int64_t>::max();

const Json& member(const Json& parent, const char* key) {
  if (!parent.is_object()) throw FormatError(fmt::format("found {}: expected an object with \"{}\"", parent.type_name(), key));
  const auto found = parent.find(key);
  if (found == parent.end()) throw FormatError(fmt::format("\"{}\" is missing", key));
  return *found;
}

[[noreturn]] void wrong_type(const char* key, const Json& value, const char* expected) {
  throw FormatError(fmt::format("\"{}\" is {}: expected {}", key, to_line(value).substr(0, 60), expected));
}

}  // namespace

Json parse_json(std::string_view text) {
  if (nests_too_deep(text)) throw FormatError(fmt::format("JSON nests deeper than {} levels: expected less", kDeepestJson));
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::exception&) {
    std::string start(text.substr(0, 40));
    std::replace_if(start.begin(), start.end(), [](char c) { return (c >= 0 && c < ' ') || c < 0; }, '.');
    throw FormatError(fmt::format("is not JSON ('{}'{}): expected a whole JSON value", start, text.size() > 40 ? "..." : ""));
  }
}

std::string to_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

const Json& object_at(const Json& parent, const char* key) {
  const Json& value = member(parent, key);
  if (!value.is_object()) wrong_type(key, value, "an object");
  return value;
}

const Json& array_at(const Json& parent, const char* key) {
  const Json& value = member(parent, key);
  if (!value.is_array()) wrong_type(key, value, "an array");
  return value;
}

std::string text_at(const Json& parent, const char* key) {
  const Json& value = member(parent, key);
  if (!value.is_string()) wrong_type(key, value, "a text");
  return value.get<std::string>();
}

std::string text_at(const Json& parent, const char* key, std::string_view otherwise) {
  return parent.contains(key) ? text_at(parent, key) : std::string(otherwise);
}

double number_at(const Json& parent, const char* key) {
  const Json& value = member(parent, key);
  if (!value.is_number() || !std::isfinite(value.get<double>())) wrong_type(key, value, "a finite number");
  return value.get<double>();
}

double number_at(const Json& parent, const char* key, double otherwise) {
  return parent.contains(key) ? number_at(parent, key) : otherwise;
}

std::int64_t integer_at(const Json& parent, const char* key, std::int64_t smallest, std::int64_t largest) {
  const Json& value = member(parent, key);
  const bool fits = value.is_number_integer() &&
                    !(value.is_number_unsigned() &&
                      value.get<std::uint64_t>() > std::uint64_t(std::numeric_limits<std::int64_t>::max())) &&
                    value.get<std::int64_t>() >= smallest && value.get<std::int64_t>() <= largest;
  if (!fits) wrong_type(key, value, fmt::format("an integer from {} to {}", smallest, largest).c_str());
  return value.get<std::int64_t>();
}

Json to_json(const DeviceIdentity& device) {
  return {{"name", device.name},
          {"sm", device.sm},
          {"sm_count", device.sm_count},
          {"l2_bytes", device.l2_bytes},
          {"smem_per_sm_bytes", device.smem_per_sm_bytes},
          {"bandwidth_class_gbps", device.bandwidth_class_gbps},
          {"power_mode", device.power_mode}};
}

DeviceIdentity device_from_json(const Json& json) {
  DeviceIdentity device;
  device.name = text_at(json, "name");
  if (device.name.empty()) throw FormatError("the device's \"name\" is empty: expected one");
  device.sm = int(integer_at(json, "sm", 10, 1000));
  device.sm_count = int(integer_at(json, "sm_count", 0, kLargestInt));
  device.l2_bytes = integer_at(json, "l2_bytes", 0, std::numeric_limits<std::int64_t>::max());
  device.smem_per_sm_bytes = int(integer_at(json, "smem_per_sm_bytes", 0, kLargestInt));
  device.bandwidth_class_gbps = int(integer_at(json, "bandwidth_class_gbps", 0, kLargestInt));
  device.power_mode = text_at(json, "power_mode");
  return device;
}

Json to_json(const Environment& environment) {
  return {{"compiler_options", environment.compiler_options},
          {"nvrtc_version", environment.nvrtc_version},
          {"driver_version", environment.driver_version},
          {"measuring_policy", environment.measuring_policy}};
}

Environment environment_from_json(const Json& json) {
  return {text_at(json, "compiler_options"), text_at(json, "nvrtc_version"),
          text_at(json, "driver_version"), text_at(json, "measuring_policy")};
}

void put_outcome(Json& json, const Record& record) {
  json["problem"] = text(record.problem);
  json["config"] = record.config.text();
  json["status"] = std::string(name(record.outcome.status));
  if (!record.outcome.message.empty()) json["message"] = record.outcome.message;
  if (const auto& timing = record.outcome.timing) {
    json["median_us"] = timing->median_us;
    json["spread"] = timing->spread;
    json["samples"] = timing->samples;
    json["clock_mhz"] = timing->clock_mhz;
    json["temperature_c"] = timing->temperature_c;
    json["power_w"] = timing->power_w;
    json["drift"] = timing->drift;
  }
  json["run"] = record.run;
  json["origin"] = record.origin;
  json["created_at"] = record.created_at;
  json["plan_hash"] = record.plan_hash;
  if (record.id != 0) json["id"] = record.id;  // the order of its store
}

Record outcome_from_json(const Json& json) {
  Record record;
  std::string error;
  const auto problem = parse_problem(text_at(json, "problem"), error);
  if (!problem) throw FormatError("\"problem\": " + error);
  record.problem = *problem;
  const std::string config_text = text_at(json, "config");
  const auto config = Config::parse(config_text);
  if (!config) throw FormatError(fmt::format("\"config\" is '{}': expected 'family{{parameter=value,...}}'", config_text));
  record.config = *config;
  const std::string status_text = text_at(json, "status");
  const auto status = parse_status(status_text);
  if (!status) throw FormatError(fmt::format("\"status\" is '{}': expected one of {}", status_text, status_names()));
  record.outcome.status = *status;
  record.outcome.message = text_at(json, "message", "");
  if (*status == Status::ok) {
    Timing timing;
    timing.median_us = number_at(json, "median_us");
    timing.spread = number_at(json, "spread");
    timing.samples = json.contains("samples") ? int(integer_at(json, "samples", 0, kLargestInt)) : 0;
    timing.clock_mhz = number_at(json, "clock_mhz", 0);
    timing.temperature_c = number_at(json, "temperature_c", 0);
    timing.power_w = number_at(json, "power_w", 0);
    timing.drift = number_at(json, "drift", 1);
    record.outcome.timing = timing;
  } else if (json.contains("median_us")) {
    throw FormatError(fmt::format("\"median_us\" with status {}: expected a timing exactly with ok", status_text));
  }
  record.run = text_at(json, "run", "");
  record.origin = text_at(json, "origin", "");
  record.created_at = text_at(json, "created_at", "");
  record.plan_hash = text_at(json, "plan_hash", "");
  if (json.contains("id")) record.id = integer_at(json, "id", -kLargestId, kLargestId);
  return record;
}

Json to_json(const Record& record) {
  Json json;
  put_outcome(json, record);
  json["device"] = to_json(record.device);
  json["environment"] = to_json(record.environment);
  return json;
}

Record record_from_json(const Json& json) {
  Record record = outcome_from_json(json);
  record.device = device_from_json(object_at(json, "device"));
  record.environment = environment_from_json(object_at(json, "environment"));
  require_consistent(record);
  return record;
}

void require_consistent(const Record& record) {
  if (const auto wrong = record_error(record)) throw FormatError(*wrong);
  if (record.created_at.empty()) throw FormatError("\"created_at\" is missing: expected the time of the measurement");
}

}  // namespace tilesmith::db
