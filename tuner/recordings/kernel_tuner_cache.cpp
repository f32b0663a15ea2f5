#include "tuner/recordings/kernel_tuner_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db/exchange/record_json.hpp"
#include "db/store/error.hpp"
#include "tuner/search/simulation.hpp"

namespace tilesmith::tuner {

namespace {

using Json = nlohmann::json;

/// What is wrong and what was expected; the file's name is added by whoever knows it.
class Refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A parameter, and its values as the file has them.
struct Listed {
  std::string name;
  std::vector<Json> values;
};

/// What was tuned for: "time", or a figure of another name.
struct Objective {
  std::string name = "time";
  bool higher_is_better = false;
};

/// What a file holds, before figures are put in the place of times.
struct Recorded {
  FamilyOutcomes outcomes;
  std::vector<std::optional<double>> figures;  ///< of each row; nullopt: the config failed
  Objective objective;
};

inline constexpr const char* kUnnamedKernel = "kernel";

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

/// A value for an error message.
std::string shown(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 60);
}

/// A member of an object. Throws Refused if it is missing or not of that type.
const Json& member(const Json& json, const char* key, const char* expected, bool (Json::*is)() const noexcept) {
  const auto found = json.find(key);
  if (found == json.end()) throw Refused(fmt::format("\"{}\" is missing: expected {}", key, expected));
  if (!((*found).*is)()) throw Refused(fmt::format("\"{}\" is {}: expected {}", key, shown(*found), expected));
  return *found;
}

/// Values that are all integers stay; of others the position in the list.
Parameter parameter_of(const Listed& listed) {
  Parameter parameter{listed.name, {}, ""};
  const bool all_int = std::all_of(listed.values.begin(), listed.values.end(), is_int);
  for (std::size_t i = 0; i < listed.values.size(); ++i) {
    parameter.values.push_back(all_int ? listed.values[i].get<int>() : int(i));
  }
  return parameter;
}

/// Of "objective", a name or a list of names; of a list the first. `source` has the direction
/// (objective_higher_is_better) of a name that is not known. Throws Refused if nothing says the direction.
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

/// The figure that an entry has for a config; nullopt: the config failed. Kernel Tuner puts the name of an error, null,
/// NaN, Infinity or a very large number where there is none. Throws Refused on anything else that is no number.
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

/// Whether some value of an entry says that the config failed, whatever its name.
bool says_failed(const Json& entry) {
  return std::any_of(entry.begin(), entry.end(), [](const Json& value) {
    return value.is_string() &&
           std::find(kErrors.begin(), kErrors.end(), value.get_ref<const std::string&>()) != kErrors.end();
  });
}

/// Puts figures, one a row, in the place of times. A time in ms becomes one in µs. Of another objective a better figure
/// becomes a shorter time, so that fractions of the optimum stay what they are: v where less is better, 1/v where more
/// is. Where some figure is not above 0 there are no such fractions, and figures are spread evenly from 1 (the best) to
/// 2. Returns what the report says of the objective; nullopt for time.
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

bool is_t4_results(const Json& json) { return json.contains("results") && !json.contains("cache"); }

/// Parameters by name, each with the values that occur, sorted; the objective is that of the first result. Throws
/// Refused naming the result and what was expected.
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

using db::StoreError;

constexpr std::string_view kExpected = "a recording, or a cache or T4 results file of Kernel Tuner";
constexpr std::size_t kEntryDepth = 2;  // an entry's braces stand within "cache", within the file's

/// Python's json writes these, which JSON has not. An empty text of the same length takes their place.
void blank_non_numbers(std::string& text, std::size_t at) {
  for (const std::string_view token :
      {std::string_view("-Infinity"), std::string_view("Infinity"), std::string_view("NaN")}) {
    if (text.compare(at, token.size(), token) != 0) continue;
    std::fill_n(text.begin() + std::ptrdiff_t(at), token.size(), ' ');
    text[at] = text[at + 1] = '"';
    return;
  }
}

/// Makes JSON of it: bare NaN and Infinity go, and a file that ends early ends after its last whole entry.
void mend(std::string& text) {
  std::size_t depth = 0, end_of_entry = 0;
  bool in_text = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_text) {
      if (c == '\\') ++at;
      else if (c == '"') in_text = false;
    } else if (c == '"') {
      in_text = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth > 0) --depth;
      if (depth == kEntryDepth && c == '}') end_of_entry = at + 1;
    } else if (c == 'N' || c == 'I' || c == '-') {
      blank_non_numbers(text, at);
      if (text[at] == '"') ++at;  // past the empty text
    }
  }
  if (depth == 0 && !in_text) return;
  if (end_of_entry == 0) throw Refused("ends before its first whole cache entry: expected at least one");
  text.resize(end_of_entry);
  text += "}}";
}

Json parse(const std::string& text) {
  if (db::nests_too_deep(text)) {
    throw Refused(fmt::format("nests deeper than {} levels: expected {}", db::kDeepestJson, kExpected));
  }
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    const std::size_t at = std::min<std::size_t>(error.byte, text.size());
    const auto line = 1 + std::count(text.begin(), text.begin() + std::ptrdiff_t(at), '\n');
    throw Refused(fmt::format("line {}: is not JSON at byte {}: expected {}", line, at, kExpected));
  } catch (const Json::exception& error) {
    throw Refused(fmt::format("holds a number that is too large: expected {}", kExpected));
  }
}

std::vector<Listed> read_parameters(const Json& json) {
  const Json& keys = member(json, "tune_params_keys", "the parameters' names", &Json::is_array);
  const Json& lists = member(json, "tune_params", "each parameter's values", &Json::is_object);
  std::vector<Listed> result;
  for (const Json& key : keys) {
    if (!key.is_string()) throw Refused(fmt::format("\"tune_params_keys\" holds {}: expected a name", shown(key)));
    Listed one{key.get<std::string>(), {}};
    const auto is_same = [&](const Listed& other) { return other.name == one.name; };
    if (std::any_of(result.begin(), result.end(), is_same)) {
      throw Refused(fmt::format("\"tune_params_keys\" holds {} twice: expected it once", shown(key)));
    }
    const auto list = lists.find(one.name);
    if (list == lists.end() || !list->is_array() || list->empty()) {
      throw Refused(fmt::format("\"tune_params\": {}: expected a list of values", shown(key)));
    }
    for (const Json& value : *list) {
      if (std::find(one.values.begin(), one.values.end(), value) == one.values.end()) one.values.push_back(value);
    }
    result.push_back(std::move(one));
  }
  if (result.empty()) throw Refused("\"tune_params_keys\" is empty: expected at least one name");
  return result;
}

/// Whether Python's str() of the value is this text; numbers are compared as numbers.
bool is_written_as(const Json& value, std::string_view text) {
  if (value.is_string()) return value.get_ref<const std::string&>() == text;
  if (value.is_boolean()) return text == (value.get<bool>() ? "True" : "False");
  if (value.is_null()) return text == "None";
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return value.is_number() && error == std::errc{} && end == text.data() + text.size() && number == value.get<double>();
}

std::vector<std::string_view> split(std::string_view key) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t comma = key.find(',');
    parts.push_back(key.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    key.remove_prefix(comma + 1);
  }
}

/// The values that the entry names; those it does not name are read from its key.
std::vector<std::size_t> positions_of(
    const std::string& key, const Json& entry, const std::vector<Listed>& parameters) {
  const std::vector<std::string_view> parts = split(key);
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Listed& parameter = parameters[i];
    const auto named = entry.find(parameter.name);
    if (named == entry.end() && parts.size() != parameters.size()) {
      throw Refused(
          fmt::format("has no {}: expected a value of each of the {} parameters", parameter.name, parameters.size()));
    }
    const auto at = std::find_if(parameter.values.begin(), parameter.values.end(),
        [&](const Json& value) { return named != entry.end() ? value == *named : is_written_as(value, parts[i]); });
    if (at == parameter.values.end()) {
      throw Refused(fmt::format("{} is {}: expected one of the values in \"tune_params\"", parameter.name,
          named != entry.end() ? shown(*named) : std::string(parts[i])));
    }
    positions.push_back(std::size_t(at - parameter.values.begin()));
  }
  return positions;
}

std::optional<double> figure_in(const Json& entry, const Objective& objective) {
  if (const auto error = entry.find("__error__"); error != entry.end() && !error->is_null()) return std::nullopt;
  const auto figure = entry.find(objective.name);
  if (figure != entry.end()) return figure_of(*figure, objective);
  if (says_failed(entry)) return std::nullopt;
  throw Refused(fmt::format("has no \"{}\": expected a number, or the name of an error", objective.name));
}

Recorded read_cache(const Json& json) {
  const std::vector<Listed> parameters = read_parameters(json);
  Recorded recorded;
  if (const auto given = json.find("objective"); given != json.end() && !given->is_null()) {
    recorded.objective = objective_of(*given, json);
  }
  const auto kernel = json.find("kernel_name");
  recorded.outcomes.family = kernel != json.end() && kernel->is_string() ? kernel->get<std::string>() : kUnnamedKernel;
  for (const Listed& one : parameters) recorded.outcomes.parameters.push_back(parameter_of(one));
  for (const auto& [key, entry] : member(json, "cache", "the configs' entries", &Json::is_object).items()) {
    try {
      if (!entry.is_object()) throw Refused(fmt::format("is {}: expected an object", shown(entry)));
      recorded.outcomes.rows.push_back({positions_of(key, entry, parameters), std::nullopt});
      recorded.figures.push_back(figure_in(entry, recorded.objective));
    } catch (const Refused& error) {
      throw Refused(fmt::format("cache entry {}: {}", shown(key), error.what()));
    }
  }
  return recorded;
}

OutcomeTable read(std::string content, std::string name) {
  if (content.find_first_not_of(" \t\r\n") == std::string::npos)
    throw Refused(fmt::format("is empty: expected {}", kExpected));
  mend(content);
  const Json json = parse(content);
  if (!json.is_object()) throw Refused(fmt::format("is not a JSON object: expected {}", kExpected));
  Recorded recorded = is_t4_results(json) ? read_t4_results(json) : read_cache(json);
  std::optional<OtherObjective> objective = put_figures(recorded.outcomes, recorded.figures, recorded.objective);
  std::vector<FamilyOutcomes> families;
  families.push_back(std::move(recorded.outcomes));
  OutcomeTable table = make_table(std::move(name), std::move(families));
  if (table.ok == 0)
    throw Refused(fmt::format("no config has a \"{}\": expected at least one", recorded.objective.name));
  table.objective = std::move(objective);
  return table;
}

}  // namespace

OutcomeTable parse_kernel_tuner_file(std::string content, const std::filesystem::path& path) {
  try {
    return read(std::move(content), path.filename().string());
  } catch (const Refused& error) {
    throw StoreError(fmt::format("{}: {}", path.string(), error.what()));
  } catch (const std::invalid_argument& error) {
    throw StoreError(
        fmt::format("{}: {}: expected each config once, of fewer than 2^64 combinations", path.string(), error.what()));
  }
}

}  // namespace tilesmith::tuner
