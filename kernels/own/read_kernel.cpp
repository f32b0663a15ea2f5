#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <utility>

#include "kernels/base/content_hash.hpp"
#include "kernels/base/words.hpp"
#include "kernels/families/user/definition_error.hpp"
#include "kernels/families/user/device_values.hpp"
#include "kernels/families/user/fields.hpp"
#include "kernels/families/user/template_text.hpp"
#include "kernels/own/kernel.hpp"
#include "kernels/own/names.hpp"
#include "kernels/own/read_argument.hpp"

namespace tilesmith::own {
namespace {

constexpr std::size_t kMostSizes = 16, kMostParameters = 32, kMostValues = 256, kMostRules = 64, kMostLaunches = 8,
                      kMostProofSizes = 16;
constexpr std::int64_t kMostCombinations = 100'000'000;  // all are counted, and what the rules leave is held in memory

/// A name that is neither the device's nor among those before.
void check_name(
    const std::string& path, const std::string& place, const std::string& name, const std::vector<std::string>& taken) {
  if (!is_c_name(name)) throw DefinitionError(fmt::format("{}: {}: expected {}", path, place, kCNameMeans));
  if (std::ranges::find(kDeviceNames, name) != kDeviceNames.end() || std::ranges::find(taken, name) != taken.end())
    throw DefinitionError(fmt::format("{}: {}: the name means something else already, expected another", path, place));
}

std::vector<std::int64_t> list_of(const Field& field) {
  std::vector<std::int64_t> values;
  for (const Field& value : field.elements(1, kMostValues)) {
    values.push_back(value.integer(std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
    if (std::ranges::count(values, values.back()) > 1) value.fail("each once");
  }
  return values;
}

/// [64, 128], or {"values": [64, 128], "meaning": "threads of a block"}.
Parameter parameter_of(const std::string& name, const Field& field) {
  Parameter parameter{name, {}, ""};
  if (!field.is_list()) {
    field.allow_only({"values", "meaning"});
    if (field.has("meaning")) parameter.meaning = field.at("meaning").line();
  }
  for (const std::int64_t value : list_of(field.is_list() ? field : field.at("values")))
    parameter.values.push_back(int(value));
  return parameter;
}

std::string entry_of(const Field& field) {
  const std::string entry = field.line();
  const std::size_t open = entry.find('<');
  const std::string_view name = std::string_view(entry).substr(0, open);
  // A name within namespaces has colons.
  std::string plain(name);
  std::erase(plain, ':');
  if (!is_c_name(plain) || (open != std::string::npos && entry.back() != '>'))
    field.fail("a kernel's name, with template arguments in <> if it has any");
  return entry;
}

/// `entry`: of the field around it, for launches that name none.
KernelLaunch launch_of(
    const Field& field, const std::optional<std::string>& entry, std::span<const ExpressionName> names) {
  field.allow_only({"entry", "grid", "block", "cluster", "shared_bytes"});
  if (!entry && !field.has("entry")) field.at("entry");  // which says that it is missing
  for (const char* name : {"grid", "block"}) field.at(name);
  return {field.has("entry") ? entry_of(field.at("entry")) : *entry, field.extent("grid", names),
      field.extent("block", names), field.extent("cluster", names),
      field.has("shared_bytes") ? field.at("shared_bytes").expression(names) : Expression::constant(0)};
}

std::vector<KernelLaunch> launches_of(const Field& around, std::span<const ExpressionName> names) {
  const auto entry = around.has("entry") ? std::optional(entry_of(around.at("entry"))) : std::nullopt;
  const Field field = around.at("launch");
  if (!field.is_list()) return {launch_of(field, entry, names)};
  std::vector<KernelLaunch> launches;
  for (const Field& one : field.elements(1, kMostLaunches)) launches.push_back(launch_of(one, entry, names));
  return launches;
}

double not_negative(const Field& field) {
  const double value = field.real();
  if (!(value >= 0)) field.fail("a number of at least 0");
  return value;
}

Tolerance tolerance_of(const Field& field) {
  if (field.is_text("exact")) return {};
  field.allow_only({"absolute", "relative"});
  if (!field.has("absolute") && !field.has("relative")) field.fail("\"exact\", or absolute, relative or both");
  return {field.has("absolute") ? not_negative(field.at("absolute")) : 0,
      field.has("relative") ? not_negative(field.at("relative")) : 0};
}

bool is_a_result(const Argument& argument) { return is_result(argument.role); }

/// Of floating-point results it must be said; integers are exact unless it is.
void read_tolerances(const Field& file, Definition& parts) {
  const bool any = file.has("tolerance");
  if (any && !parts.reference) file.at("tolerance").fail("none: there is no reference to compare with");
  if (!parts.reference) return;
  if (any) {
    for (const auto& [name, field] : file.at("tolerance").members(kMostArguments)) {
      const auto place = std::ranges::find(parts.arguments, name, &Argument::name);
      if (place == parts.arguments.end() || !is_a_result(*place))
        field.fail("no tolerance: it is no out or inout argument");
      parts.tolerances.emplace_back(name, tolerance_of(field));
    }
  }
  for (const Argument& argument : parts.arguments) {
    const auto is_named = [&](const auto& one) { return one.first == argument.name; };
    const auto& files = parts.reference->files;
    const bool compared = is_a_result(argument) && (files.empty() || std::ranges::any_of(files, is_named));
    if (!compared || std::ranges::any_of(parts.tolerances, is_named)) continue;
    if (argument.type->is_float)
      file.fail(
          fmt::format("\"tolerance\" with \"{}\": floating-point results differ from a reference's", argument.name));
    parts.tolerances.emplace_back(argument.name, Tolerance{});
  }
}

std::string text_of(const Field& field, const std::filesystem::path& folder) {
  return template_text(folder, file_of(field, folder).lexically_relative(folder).string());
}

/// Plain kernels, or {"files": {"out": "expected.bin"}}: a file for each result.
Reference reference_of(
    const Field& field, const std::filesystem::path& folder, const Names& names, const Definition& parts) {
  field.allow_only({"source", "entry", "launch", "files"});
  if (!field.has("files")) return {text_of(field.at("source"), folder), launches_of(field, names.of_sizes())};
  for (const char* other : {"source", "entry", "launch"}) {
    if (field.has(other)) field.at(other).fail("none: there are files");
  }
  Reference reference;
  for (const auto& [name, file] : field.at("files").members(kMostArguments))
    reference.files.emplace_back(name, file_of(file, folder));
  for (const auto& [name, file] : reference.files) {
    const auto place = std::ranges::find(parts.arguments, name, &Argument::name);
    if (place == parts.arguments.end() || !is_a_result(*place))
      field.at("files").at(name).fail("no file: it is no out or inout argument");
  }
  return reference;
}

void read_names(const Field& file, const std::string& path, Definition& parts, Names& names) {
  std::vector<std::string> taken;
  if (file.has("sizes")) {
    for (const auto& [name, field] : file.at("sizes").members(kMostSizes)) {
      check_name(path, "sizes." + name, name, taken);
      taken.push_back(name);
      parts.sizes.emplace_back(name, field.integer(1, kMaxSize));
      names.sizes.push_back(name);
    }
  }
  std::int64_t combinations = 1;
  const Field parameters = file.at("parameters");
  for (const auto& [name, field] : parameters.members(kMostParameters)) {
    check_name(path, "parameters." + name, name, taken);
    taken.push_back(name);
    parts.parameters.push_back(parameter_of(name, field));
    names.parameters.push_back(name);
    combinations *= std::int64_t(parts.parameters.back().values.size());
    if (combinations > kMostCombinations)
      parameters.fail(fmt::format("at most {} combinations of values", kMostCombinations));
  }
}

void read_rules(const Field& file, const Names& names, Definition& parts) {
  if (!file.has("rules")) return;
  const std::vector<ExpressionName> readable = names.of_rules();
  for (const Field& field : file.at("rules").elements(0, kMostRules)) {
    field.allow_only({"name", "reason", "holds"});
    const std::string reason = field.has("reason") ? field.at("reason").line() : "a rule of the kernel's";
    const std::string name = field.has("name") ? field.at("name").line() : field.at("holds").shown();
    parts.rules.push_back({name, reason, field.at("holds").expression(readable)});
  }
}

void read_proof(const Field& file, const std::filesystem::path& folder, const Names& names, Definition& parts) {
  if (file.has("reference")) {
    parts.reference = reference_of(file.at("reference"), folder, names, parts);
  }
  read_tolerances(file, parts);
  if (!file.has("proof_sizes")) return;
  if (parts.reference && !parts.reference->files.empty())
    file.at("proof_sizes").fail("none: the reference's files are results at the sizes of kernel.json alone");
  for (const Field& field : file.at("proof_sizes").elements(1, kMostProofSizes)) {
    std::vector<std::int64_t>& values = parts.proof_sizes.emplace_back();
    for (const auto& [name, value] : parts.sizes)
      values.push_back(field.has(name.c_str()) ? field.at(name).integer(1, kMaxSize) : value);
    for (const auto& [name, value] : field.members(kMostSizes)) {
      if (std::ranges::find(names.sizes, name) == names.sizes.end()) value.fail("no value, there is no such size");
    }
  }
}

Definition definition_of(const Field& file, const std::string& path, const std::filesystem::path& folder) {
  file.allow_only({"name", "summary", "source", "entry", "sizes", "arguments", "parameters", "rules", "launch",
      "reference", "tolerance", "proof_sizes", "deterministic", "work"});
  Definition parts;
  parts.name = file.at("name").line();
  if (!is_c_name(parts.name)) file.at("name").fail(kCNameMeans);
  if (file.has("summary")) parts.summary = file.at("summary").line();
  parts.text = text_of(file.at("source"), folder);
  Names names;
  read_names(file, path, parts, names);
  const std::vector<ExpressionName> of_sizes = names.of_sizes();
  for (const Field& field : file.at("arguments").elements(1, kMostArguments)) {
    parts.arguments.push_back(argument_of(field, of_sizes, path, folder));
    if (std::ranges::count(parts.arguments, parts.arguments.back().name, &Argument::name) > 1)
      field.fail("each name once");
  }
  if (std::ranges::none_of(parts.arguments, is_a_result))
    file.at("arguments").fail("an argument whose role is out or inout");
  read_rules(file, names, parts);
  parts.launches = launches_of(file, names.of_launches());
  if (file.has("deterministic")) parts.deterministic = file.at("deterministic").flag();
  read_proof(file, folder, names, parts);
  if (file.has("work")) {
    const Field work = file.at("work");
    work.allow_only({"operations", "bytes"});
    if (work.has("operations")) parts.operations = work.at("operations").expression(of_sizes);
    if (work.has("bytes")) parts.bytes = work.at("bytes").expression(of_sizes);
  }
  return parts;
}

/// What proofs go by: if any of it changes, kernels are proven anew.
std::string proof_of(const Field::Json& json, const Definition& parts) {
  std::string all;
  for (const char* name : {"arguments", "reference", "tolerance", "proof_sizes", "deterministic"})
    all += (json.contains(name) ? json[name].dump() : "") + '\0';
  if (parts.reference) {
    all += parts.reference->text;
    for (const auto& [name, file] : parts.reference->files) all += content_hash(read_bytes(file));
  }
  for (const Argument& argument : parts.arguments) {
    if (argument.fill == Fill::file) all += content_hash(read_bytes(argument.file));
  }
  return content_hash(all);
}

}  // namespace

std::vector<std::byte> read_bytes(const std::filesystem::path& path) {
  std::error_code error;
  std::vector<std::byte> bytes(std::filesystem::file_size(path, error));
  std::ifstream file(path, std::ios::binary);
  if (error || !file.read(reinterpret_cast<char*>(bytes.data()), std::streamsize(bytes.size())))
    throw DefinitionError(fmt::format("{}: cannot be read", path.string()));
  return bytes;
}

std::unique_ptr<Kernel> read_kernel(const std::filesystem::path& folder) {
  const std::string path = (folder / "kernel.json").string();
  const std::string text = read_text_file(path);
  const Field::Json json = parse_definition(text, path);
  Definition parts = definition_of(Field(json, path), path, folder);
  parts.proof = proof_of(json, parts);
  parts.content = content_hash(text + '\0' + parts.text + '\0' + parts.proof);
  return std::make_unique<Kernel>(std::move(parts));
}

}  // namespace tilesmith::own
