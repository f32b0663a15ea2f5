#include "db/exchange/record_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "db/exchange/json_depth.hpp"

namespace tilesmith::db {
namespace {

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

std::int64_t integer_at(const Json& parent, const char* key, std::int64_t smallest, std::int64_t largest) {
  const Json& value = member(parent, key);
  const bool fits = value.is_number_integer() &&
                    !(value.is_number_unsigned() &&
                      value.get<std::uint64_t>() > std::uint64_t(std::numeric_limits<std::int64_t>::max())) &&
                    value.get<std::int64_t>() >= smallest && value.get<std::int64_t>() <= largest;
  if (!fits) wrong_type(key, value, fmt::format("an integer from {} to {}", smallest, largest).c_str());
  return value.get<std::int64_t>();
}

Problem problem_at(const Json& parent, const char* key) {
  std::string error;
  const auto problem = parse_problem(text_at(parent, key), error);
  if (!problem) throw FormatError(fmt::format("\"{}\": {}", key, error));
  return *problem;
}

Config config_at(const Json& parent, const char* key) {
  const std::string config_text = text_at(parent, key);
  const auto config = Config::parse(config_text);
  if (!config) throw FormatError(fmt::format("\"{}\" is '{}': expected 'family{{parameter=value,...}}'", key, config_text));
  return *config;
}

Json to_json(const DeviceIdentity& device) {
  Json json;
  put_fields(json, device);
  return json;
}

DeviceIdentity device_from_json(const Json& json) {
  DeviceIdentity device = fields_from<DeviceIdentity>(json);
  if (device.name.empty()) throw FormatError("the device's \"name\" is empty: expected one");
  integer_at(json, "sm", 10, 1000);
  return device;
}

void put_outcome(Json& json, const Record& record) {
  json["problem"] = text(record.problem);
  json["config"] = record.config.text();
  json["status"] = std::string(name(record.outcome.status));
  if (!record.outcome.message.empty()) json["message"] = record.outcome.message;
  if (record.outcome.timing) put_fields(json, *record.outcome.timing);
  put_fields(json, record);
  if (record.id != 0) json["id"] = record.id;  // the order of its store
}

Record outcome_from_json(const Json& json) {
  Record record = fields_from<Record>(json, {}, Missing::left);
  record.problem = problem_at(json, "problem");
  record.config = config_at(json, "config");
  const std::string status_text = text_at(json, "status");
  const auto status = parse_status(status_text);
  if (!status) throw FormatError(fmt::format("\"status\" is '{}': expected one of {}", status_text, status_names()));
  record.outcome.status = *status;
  record.outcome.message = text_at(json, "message", "");
  if (*status == Status::ok) {
    for (const char* required : {"median_us", "spread"}) number_at(json, required);
    record.outcome.timing = fields_from<Timing>(json, {}, Missing::left);
  } else if (json.contains("median_us")) {
    throw FormatError(fmt::format("\"median_us\" with status {}: expected a timing exactly with ok", status_text));
  }
  if (json.contains("id")) record.id = integer_at(json, "id", -kLargestId, kLargestId);
  return record;
}

Json to_json(const Record& record) {
  Json json;
  put_outcome(json, record);
  json["device"] = to_json(record.device);
  put_fields(json["environment"], record.environment);
  return json;
}

Record record_from_json(const Json& json) {
  Record record = outcome_from_json(json);
  record.device = device_from_json(object_at(json, "device"));
  record.environment = fields_from<Environment>(object_at(json, "environment"));
  require_consistent(record);
  return record;
}

void require_consistent(const Record& record) {
  if (const auto wrong = record_error(record)) throw FormatError(*wrong);
  if (record.created_at.empty()) throw FormatError("\"created_at\" is missing: expected the time of the measurement");
}

}  // namespace tilesmith::db
