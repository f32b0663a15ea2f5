#include "tuner/recordings/kernel_tuner_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

namespace tilesmith::tuner::kernel_tuner {
namespace {

constexpr double kFailedFrom = 1e20;
constexpr double kUsPerMs = 1000;
constexpr std::string_view kTimeKey = "time";

/// Kernel Tuner's own defaults, and the score of its tuning of strategies: whether more is better.
constexpr std::pair<std::string_view, bool> kDirections[] = {{"time", false}, {"energy", false}, {"cost", false},
    {"loss", false}, {"fitness", true}, {"score", true}, {"GFLOP/s", true}, {"TFLOP/s", true}, {"GB/s", true},
    {"TB/s", true}, {"GFLOPS/W", true}, {"TFLOPS/W", true}, {"GFLOP/J", true}, {"TFLOP/J", true}};
constexpr std::array<std::string_view, 4> kErrors{
    "ErrorConfig", "InvalidConfig", "CompilationFailedConfig", "RuntimeFailedConfig"};

bool is_int(const Json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>() <= std::uint64_t(std::numeric_limits<int>::max());
  if (!value.is_number_integer()) return false;
  const auto number = value.get<std::int64_t>();
  return number >= std::numeric_limits<int>::min() && number <= std::numeric_limits<int>::max();
}

}  // namespace

std::string shown(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 60);
}

const Json& member(const Json& json, const char* key, const char* expected, bool (Json::*is)() const noexcept) {
  const auto found = json.find(key);
  if (found == json.end()) throw Refused(fmt::format("\"{}\" is missing: expected {}", key, expected));
  if (!((*found).*is)()) throw Refused(fmt::format("\"{}\" is {}: expected {}", key, shown(*found), expected));
  return *found;
}

Parameter parameter_of(const Listed& listed) {
  Parameter parameter{listed.name, {}, ""};
  const bool all_int = std::all_of(listed.values.begin(), listed.values.end(), is_int);
  for (std::size_t i = 0; i < listed.values.size(); ++i) {
    parameter.values.push_back(all_int ? listed.values[i].get<int>() : int(i));
  }
  return parameter;
}

Objective objective_of(const Json& given, const Json& source) {
  const Json& first = given.is_array() && !given.empty() ? given.front() : given;
  if (!first.is_string()) throw Refused(fmt::format("the objective is {}: expected a name", shown(given)));
  Objective objective{first.get<std::string>(), false};
  if (const auto said = source.find("objective_higher_is_better"); said != source.end() && said->is_boolean()) {
    objective.higher_is_better = said->get<bool>();
    return objective;
  }
  const auto known = std::find_if(std::begin(kDirections), std::end(kDirections),
      [&](const auto& direction) { return direction.first == objective.name; });
  if (known == std::end(kDirections)) {
    throw Refused(fmt::format(
        "the objective is {}: expected \"objective_higher_is_better\" beside it, true or false, or a name whose "
        "direction is known, such as time, energy or GFLOP/s",
        shown(first)));
  }
  objective.higher_is_better = known->second;
  return objective;
}

std::optional<double> figure_of(const Json& value, const Objective& objective) {
  if (value.is_string() || value.is_null()) return std::nullopt;
  if (!value.is_number()) {
    throw Refused(fmt::format("\"{}\" is {}: expected {}, or the name of an error", objective.name, shown(value),
        objective.name == kTimeKey ? "ms" : "a number"));
  }
  const double figure = value.get<double>();
  if (!(std::abs(figure) < kFailedFrom) || (objective.name == kTimeKey && !(figure > 0))) return std::nullopt;
  return figure;
}

bool says_failed(const Json& entry) {
  return std::any_of(entry.begin(), entry.end(), [](const Json& value) {
    return value.is_string() &&
           std::find(kErrors.begin(), kErrors.end(), value.get_ref<const std::string&>()) != kErrors.end();
  });
}

std::optional<OtherObjective> put_figures(
    FamilyOutcomes& outcomes, const std::vector<std::optional<double>>& figures, const Objective& objective) {
  std::optional<double> best, worst;
  bool all_above_0 = true;
  for (const std::optional<double>& figure : figures) {
    if (!figure) continue;
    const auto is_better = [&](double a, double b) { return objective.higher_is_better ? a > b : a < b; };
    if (!best || is_better(*figure, *best)) best = figure;
    if (!worst || is_better(*worst, *figure)) worst = figure;
    all_above_0 = all_above_0 && *figure > 0;
  }
  const double range = best && *best != *worst ? *worst - *best : 1;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    if (!figures[i]) continue;
    const double figure = *figures[i];
    double& as_time = outcomes.rows[i].time_us.emplace();
    if (objective.name == kTimeKey) as_time = figure * kUsPerMs;
    else if (!all_above_0) as_time = 1 + (figure - *best) / range;
    else as_time = objective.higher_is_better ? 1 / figure : figure;
  }
  if (objective.name == kTimeKey) return std::nullopt;
  return OtherObjective{objective.name, best.value_or(0)};
}

}  // namespace tilesmith::tuner::kernel_tuner
