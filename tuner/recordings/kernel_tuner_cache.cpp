#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "db/exchange/record_json.hpp"
#include "db/store/error.hpp"
#include "tuner/recordings/kernel_tuner_files.hpp"

namespace tilesmith::tuner {
namespace {

using namespace kernel_tuner;
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
