#include "db/exchange/record_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilesmith::db {
namespace {

constexpr std::int64_t kLargestId = std::numeric_limits<std::int64_t>::max();

const Json& member(const Json& parent, const char* key) {
  if (!parent.is_object())
    throw FormatError(fmt::format("found {}: expected an object with \"{}\"", parent.type_name(), key));
  const auto found = parent.find(key);
  if (found == parent.end()) throw FormatError(fmt::format("\"{}\" is missing", key));
  return *found;
}

[[noreturn]] void wrong_type(const char* key, const Json& value, const char* expected) {
  throw FormatError(fmt::format("\"{}\" is {}: expected {}", key, to_line(value).substr(0, 60), expected));
}

Json time_to_json(const VendorTime& time) {
  if (!(time.us > 0)) return nullptr;
  return {{"us", time.us}, {"spread", time.spread}, {"algorithm", time.algorithm}};
}

VendorTime time_from_json(const Json& json, const char* key) {
  if (!json.contains(key) || json[key].is_null()) return {};
  const Json& time = object_at(json, key);
  return {
      number_at(time, "us"), time.contains("spread") ? number_at(time, "spread") : 0, text_at(time, "algorithm", "")};
}

}  // namespace

bool nests_too_deep(std::string_view text) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_text) {
      if (c == '\\') ++at;
      else if (c == '"') in_text = false;
    } else if (c == '"') {
      in_text = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kDeepestJson) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

Json parse_json(std::string_view text) {
  if (nests_too_deep(text))
    throw FormatError(fmt::format("JSON nests deeper than {} levels: expected less", kDeepestJson));
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::exception&) {
    std::string start(text.substr(0, 40));
    std::replace_if(
        start.begin(), start.end(), [](char c) { return (c >= 0 && c < ' ') || c < 0; }, '.');
    throw FormatError(
        fmt::format("is not JSON ('{}'{}): expected a whole JSON value", start, text.size() > 40 ? "..." : ""));
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

void for_each_at(const Json& parent, const char* key, const char* what, const std::function<void(const Json&)>& use) {
  std::size_t number = 0;
  for (const Json& entry : array_at(parent, key)) {
    ++number;
    try {
      use(entry);
    } catch (const FormatError& error) {
      throw FormatError(fmt::format("{} {}: {}", what, number, error.what()));
    }
  }
}

Task task_at(const Json& parent, const char* key) {
  std::string error;
  const auto task = parse_task(text_at(parent, key), error);
  if (!task) throw FormatError(fmt::format("\"{}\": {}", key, error));
  return *task;
}

Problem problem_at(const Json& parent, const char* key) {
  const Task task = task_at(parent, key);
  if (!task.is_gemm()) throw FormatError(fmt::format("\"{}\" is '{}': expected a GEMM problem", key, text(task)));
  return task.problem();
}

Config config_at(const Json& parent, const char* key) {
  const std::string config_text = text_at(parent, key);
  const auto config = Config::parse(config_text);
  if (!config)
    throw FormatError(fmt::format("\"{}\" is '{}': expected 'family{{parameter=value,...}}'", key, config_text));
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
  json["problem"] = text(record.task);
  json["config"] = record.config.text();
  json["status"] = std::string(name(record.outcome.status));
  if (!record.outcome.message.empty()) json["message"] = record.outcome.message;
  if (record.outcome.timing) put_fields(json, *record.outcome.timing);
  put_fields(json, record);
  if (record.id != 0) json["id"] = record.id;  // the order of its store
}

Record outcome_from_json(const Json& json) {
  Record record = fields_from<Record>(json, {}, Missing::left);
  record.task = task_at(json, "problem");
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

Json to_json(const VendorTimes& times) {
  Json json{{"problem", text(times.problem)}, {"device", to_json(times.device)}};
  put_fields(json, times);
  json["first"] = time_to_json(times.first);
  json["best"] = time_to_json(times.best);
  json["beside"] = Json::array();
  if (times.id != 0) json["id"] = times.id;  // the order of its store
  for (const VendorTimes::Beside& one : times.beside)
    json["beside"].push_back(
        {{"config", one.config.text()}, {"plan_hash", one.plan_hash}, {"median_us", one.median_us}});
  return json;
}

VendorTimes vendor_times_from_json(const Json& json) {
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
  const auto add = [&](const Json& entry) { all.push_back(vendor_times_from_json(entry)); };
  if (file.contains("vendor_times")) for_each_at(file, "vendor_times", "vendor_times, entry", add);
  return all;
}

}  // namespace tilesmith::db
