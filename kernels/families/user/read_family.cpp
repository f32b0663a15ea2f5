#include "kernels/families/user/user_family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/base/content_hash.hpp"
#include "kernels/families/render.hpp"
#include "kernels/families/user/fields.hpp"
#include "kernels/families/user/template_text.hpp"

namespace tilesmith {
namespace {

constexpr std::size_t kMostParameters = 32, kMostValues = 256, kMostRules = 64, kMostLaunches = 4,
                      kMostInitialConfigs = 64;
constexpr std::int64_t kMostCombinations = 100'000'000;  // all are counted, and what the rules leave is held in memory

template <typename T>
void refuse_twice(const std::vector<T>& known, const T& one, const Field& field) {
  if (std::ranges::find(known, one) != known.end()) field.fail("each once");
}

std::vector<TypePair> types_of(const Field& file) {
  std::vector<TypePair> types;
  for (const Field& field : file.at("types").elements(1, type_pairs().size())) {
    const TypePair* type = find_type_pair(field.line());
    if (type == nullptr) field.fail("one of " + type_pair_names());
    refuse_twice(types, *type, field);
    types.push_back(*type);
  }
  return types;
}

std::vector<Transposes> transposes_of(const Field& file) {
  if (!file.has("transposes")) return {std::begin(kAllTransposes), std::end(kAllTransposes)};
  std::vector<Transposes> transposes;
  for (const Field& field : file.at("transposes").elements(1, std::size(kAllTransposes))) {
    const auto trans = parse_transposes(field.line());
    if (!trans) field.fail("NN, NT, TN or TT");
    refuse_twice(transposes, *trans, field);
    transposes.push_back(*trans);
  }
  return transposes;
}

Parameter parameter_of(const std::string& name, const Field& field) {
  field.allow_only({"values", "meaning"});
  Parameter parameter{name, {}, field.at("meaning").line()};
  for (const Field& value : field.at("values").elements(1, kMostValues)) {
    const int number = int(value.integer(std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
    refuse_twice(parameter.values, number, value);
    parameter.values.push_back(number);
  }
  return parameter;
}

std::vector<Parameter> parameters_of(const Field& file, const std::string& path) {
  std::vector<Parameter> parameters;
  std::int64_t combinations = 1;
  const Field all = file.at("parameters");
  for (const auto& [name, field] : all.members(kMostParameters)) {
    const std::string place = fmt::format("{}: parameters.{}", path, name);
    if (!is_identifier(name)) throw DefinitionError(fmt::format("{}: expected {}", place, kIdentifierMeans));
    if (UserNames::is_taken(name))
      throw DefinitionError(place + ": the name means something else in expressions, expected another");
    for (const Parameter& other : parameters) {
      if (constant_name(other.name) == constant_name(name))
        throw DefinitionError(fmt::format(
            "{}: {} would be {}'s constant, too; expected another name", place, constant_name(name), other.name));
    }
    parameters.push_back(parameter_of(name, field));
    combinations *= std::int64_t(parameters.back().values.size());
    if (combinations > kMostCombinations) all.fail(fmt::format("at most {} combinations of values", kMostCombinations));
  }
  return parameters;
}

UserLaunch launch_of(const Field& field, std::span<const ExpressionName> names, int min_sm) {
  field.allow_only({"entry", "grid", "block", "shared_bytes", "cluster"});
  UserLaunch launch{field.has("entry") ? field.at("entry").identifier() : "gemm", {}, {}, {}, Expression::constant(0)};
  for (const char* name : {"grid", "block"}) field.at(name);
  launch.grid = field.extent("grid", names);
  launch.block = field.extent("block", names);
  launch.cluster = field.extent("cluster", names);
  if (field.has("cluster") && min_sm < 90) field.at("cluster").fail("no clusters, or min_sm of at least 90");
  if (field.has("shared_bytes")) launch.shared_bytes = field.at("shared_bytes").expression(names);
  return launch;
}

std::vector<UserLaunch> launches_of(const Field& file, std::span<const ExpressionName> names, int min_sm) {
  const Field field = file.at("launch");
  if (!field.is_list()) return {launch_of(field, names, min_sm)};
  std::vector<UserLaunch> launches;
  for (const Field& one : field.elements(1, kMostLaunches)) launches.push_back(launch_of(one, names, min_sm));
  return launches;
}

Config seed_of(const UserFamilyParts& parts, const Field& field) {
  std::vector<Config::Value> values;
  const auto members = field.members(kMostParameters);
  for (const auto& [name, value] : members) {
    const auto is_it = [&, of = name](const Parameter& parameter) { return parameter.name == of; };
    if (std::ranges::none_of(parts.parameters, is_it)) value.fail("no value, there is no such parameter");
  }
  for (const Parameter& parameter : parts.parameters) {
    const Field value = field.at(parameter.name);
    const int number = int(value.integer(std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
    if (std::ranges::find(parameter.values, number) == parameter.values.end())
      value.fail("a value of the parameter's list");
    values.emplace_back(parameter.name, number);
  }
  return {parts.name, std::move(values)};
}

void read_rules(const Field& file, const UserNames& names, UserFamilyParts& parts) {
  if (file.has("rules")) {
    for (const Field& field : file.at("rules").elements(0, kMostRules)) {
      field.allow_only({"name", "reason", "holds"});
      parts.rules.push_back(
          {field.at("name").line(), field.at("reason").line(), field.at("holds").expression(names.of_rules())});
    }
  }
  if (file.has("refusals")) {
    for (const Field& field : file.at("refusals").elements(0, kMostRules)) {
      field.allow_only({"reason", "when"});
      parts.refusals.push_back({field.at("reason").line(), field.at("when").expression(names.of_launches())});
    }
  }
}

UserFamilyParts parts_of(const Field& file, const std::string& path) {
  file.allow_only({"name", "summary", "template", "types", "transposes", "min_sm", "deterministic", "parameters",
      "rules", "refusals", "launch", "workspace_bytes", "initial_configs", "estimate_cycles"});
  UserFamilyParts parts;
  parts.name = file.at("name").identifier();
  parts.summary = file.at("summary").line();
  parts.types = types_of(file);
  parts.transposes = transposes_of(file);
  if (file.has("min_sm")) parts.min_sm = int(file.at("min_sm").integer(80, 1000));
  if (file.has("deterministic")) parts.deterministic = file.at("deterministic").flag();
  parts.parameters = parameters_of(file, path);
  const UserNames names(parts.parameters);
  read_rules(file, names, parts);
  parts.launches = launches_of(file, names.of_launches(), parts.min_sm);
  parts.workspace_bytes = file.has("workspace_bytes") ? file.at("workspace_bytes").expression(names.of_launches())
                                                      : Expression::constant(0);
  if (file.has("initial_configs")) {
    for (const Field& field : file.at("initial_configs").elements(0, kMostInitialConfigs))
      parts.initial_configs.push_back(seed_of(parts, field));
  }
  if (file.has("estimate_cycles")) parts.estimate_cycles = file.at("estimate_cycles").expression(names.all());
  return parts;
}

}  // namespace

std::unique_ptr<UserFamily> read_family(const std::filesystem::path& folder) {
  const std::string path = (folder / "family.json").string();
  const std::string text = read_text_file(path);
  const Field::Json json = parse_definition(text, path);
  const Field file(json, path);
  UserFamilyParts parts = parts_of(file, path);
  const Field field = file.at("template");
  const std::string name = field.line();
  if (!is_inside(name)) field.fail("the name of a file in the folder");
  parts.text = template_text(folder, name);
  parts.content = content_hash(text + '\0' + parts.text);
  return std::make_unique<UserFamily>(std::move(parts));
}

}  // namespace tilesmith
