#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "tuner/recordings/kernel_tuner_files.hpp"

namespace tilesmith::tuner::kernel_tuner {
namespace {

constexpr std::string_view kTime = "time";

/// "miliseconds" is what Kernel Tuner's own hub has.
constexpr std::pair<std::string_view, double> kMsPerUnit[] = {{"s", 1e3}, {"seconds", 1e3}, {"ms", 1},
    {"milliseconds", 1}, {"miliseconds", 1}, {"us", 1e-3}, {"µs", 1e-3}, {"microseconds", 1e-3}, {"ns", 1e-6},
    {"nanoseconds", 1e-6}, {"", 1}, {"default", 1}};

double ms_per(std::string unit) {
  std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  for (const auto& [name, ms] : kMsPerUnit) {
    if (name == unit) return ms;
  }
  throw Refused(fmt::format("the unit of time is '{}': expected s, ms, us or ns", unit.substr(0, 60)));
}

std::string text_or_empty(const Json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// The values that each parameter has in some result.
std::vector<Listed> parameters_of(const Json& results) {
  std::map<std::string, std::set<Json>> values;
  for (const Json& result : results) {
    for (const auto& [name, value] : result["configuration"].items()) values[name].insert(value);
  }
  std::vector<Listed> parameters;
  for (const auto& [name, of_one] : values) parameters.push_back({name, {of_one.begin(), of_one.end()}});
  return parameters;
}

std::vector<std::size_t> positions_of(const Json& configuration, const std::vector<Listed>& parameters) {
  std::vector<std::size_t> positions;
  for (const Listed& parameter : parameters) {
    const auto value = configuration.find(parameter.name);
    if (value == configuration.end()) {
      throw Refused(fmt::format("\"configuration\" has no {}: expected a value of each of the {} parameters",
          parameter.name, parameters.size()));
    }
    const auto at = std::lower_bound(parameter.values.begin(), parameter.values.end(), *value);
    positions.push_back(std::size_t(at - parameter.values.begin()));
  }
  return positions;
}

std::optional<double> figure_in(const Json& result, const Objective& objective, const std::string& time_unit) {
  const Json& validity = member(result, "invalidity", "correct, or why the config failed", &Json::is_string);
  if (validity.get_ref<const std::string&>() != "correct") return std::nullopt;
  const Json& measurements = member(result, "measurements", "a list of what was measured", &Json::is_array);
  for (const Json& one : measurements) {
    if (text_or_empty(one, "name") != objective.name) continue;
    const auto value = one.find("value");
    if (value == one.end()) break;
    const auto figure = figure_of(*value, objective);
    if (!figure || objective.name != kTime) return figure;
    const std::string unit = text_or_empty(one, "unit");
    return *figure * ms_per(unit.empty() ? time_unit : unit);
  }
  throw Refused(
      fmt::format("\"measurements\" has no value of \"{}\": expected one, as the objective is", objective.name));
}

}  // namespace

bool is_t4_results(const Json& json) { return json.contains("results") && !json.contains("cache"); }

Recorded read_t4_results(const Json& json) {
  const Json& results = member(json, "results", "a list of results", &Json::is_array);
  if (results.empty()) throw Refused("\"results\" is empty: expected at least one");
  std::size_t number = 0;
  Recorded recorded;
  try {
    for (const Json& result : results) {
      ++number;
      if (!result.is_object()) throw Refused(fmt::format("is {}: expected an object", shown(result)));
      member(result, "configuration", "a value of each parameter", &Json::is_object);
    }
    number = 1;
    const auto objectives = results.front().find("objectives");
    if (objectives != results.front().end()) recorded.objective = objective_of(*objectives, json);
    const std::string time_unit =
        json.contains("metadata") ? text_or_empty(json["metadata"], "timeunit") : std::string();
    const std::vector<Listed> parameters = parameters_of(results);
    recorded.outcomes.family = kUnnamedKernel;
    for (const Listed& one : parameters) recorded.outcomes.parameters.push_back(parameter_of(one));
    for (number = 1; const Json& result : results) {
      recorded.outcomes.rows.push_back({positions_of(result["configuration"], parameters), std::nullopt});
      recorded.figures.push_back(figure_in(result, recorded.objective, time_unit));
      ++number;
    }
  } catch (const Refused& error) {
    throw Refused(fmt::format("result {}: {}", number, error.what()));
  }
  return recorded;
}

}  // namespace tilesmith::tuner::kernel_tuner
