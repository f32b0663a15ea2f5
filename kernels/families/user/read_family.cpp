#include "kernels/families/user/user_family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/base/content_hash.hpp"
#include "kernels/families/render.hpp"
#include "kernels/families/user/template_text.hpp"

namespace tilesmith {
namespace {

constexpr std::size_t kMostLaunches = 4, kMostInitialConfigs = 64;

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

std::vector<Parameter> family_parameters(const Field& file) {
  std::vector<std::string> known;
  return parameters_of(file.at("parameters"), [&](const std::string& name, const Field& field) {
    if (!is_identifier(name)) field.refuse(fmt::format("expected {}", kIdentifierMeans));
    if (is_taken_name(name)) field.refuse("the name means something else in expressions, expected another");
    for (const std::string& other : known) {
      if (constant_name(other) == constant_name(name))
        field.refuse(fmt::format("{} would be {}'s constant, too; expected another name", constant_name(name), other));
    }
    known.push_back(name);
    field.allow_only({"values", "meaning"});
    field.at("meaning");  // which says that it is missing
  });
}

std::string launch_entry(const Field& launch, int min_sm) {
  if (launch.has("cluster") && min_sm < 90) launch.at("cluster").fail("no clusters, or min_sm of at least 90");
  return launch.has("entry") ? launch.at("entry").identifier() : "gemm";
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

UserFamilyParts parts_of(const Field& file) {
  file.allow_only({"name", "summary", "template", "types", "transposes", "min_sm", "deterministic", "parameters",
      "rules", "refusals", "launch", "workspace_bytes", "initial_configs", "estimate_cycles"});
  UserFamilyParts parts;
  parts.name = file.at("name").identifier();
  parts.summary = file.at("summary").line();
  parts.types = types_of(file);
  parts.transposes = transposes_of(file);
  if (file.has("min_sm")) parts.min_sm = int(file.at("min_sm").integer(80, 1000));
  if (file.has("deterministic")) parts.deterministic = file.at("deterministic").flag();
  parts.parameters = family_parameters(file);
  const std::vector<ExpressionName> of_launches = user_names(parts.parameters, {.problem = true});
  parts.rules = rules_of(file, true, user_names(parts.parameters, {.device = true}));
  if (file.has("refusals")) {
    for (const Field& field : file.at("refusals").elements(0, kMostRules)) {
      field.allow_only({"reason", "when"});
      parts.refusals.push_back({field.at("reason").line(), field.at("when").expression(of_launches)});
    }
  }
  parts.launches = launches_of(file.at("launch"), kMostLaunches, of_launches,
      [&](const Field& launch) { return launch_entry(launch, parts.min_sm); });
  parts.workspace_bytes =
      file.has("workspace_bytes") ? file.at("workspace_bytes").expression(of_launches) : Expression::constant(0);
  if (file.has("initial_configs")) {
    for (const Field& field : file.at("initial_configs").elements(0, kMostInitialConfigs))
      parts.initial_configs.push_back(seed_of(parts, field));
  }
  if (file.has("estimate_cycles"))
    parts.estimate_cycles =
        file.at("estimate_cycles").expression(user_names(parts.parameters, {.device = true, .problem = true}));
  return parts;
}

}  // namespace

std::unique_ptr<UserFamily> read_family(const std::filesystem::path& folder) {
  const std::string path = (folder / "family.json").string();
  const std::string text = read_text_file(path);
  const Field::Json json = parse_definition(text, path);
  const Field file(json, path);
  UserFamilyParts parts = parts_of(file);
  const Field field = file.at("template");
  const std::string name = field.line();
  if (!is_inside(name)) field.fail("the name of a file in the folder");
  parts.text = template_text(folder, name);
  parts.content = content_hash(text + '\0' + parts.text);
  return std::make_unique<UserFamily>(std::move(parts));
}

}  // namespace tilesmith
