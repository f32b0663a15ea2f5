#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <ranges>
#include <utility>

#include "kernels/base/content_hash.hpp"
#include "kernels/base/words.hpp"
#include "kernels/families/user/template_text.hpp"
#include "kernels/own/kernel.hpp"

namespace tilesmith::own {
namespace {

constexpr std::size_t kMostSizes = 16, kMostExtents = 8, kMostLaunches = 8, kMostProofSizes = 16;

/// What expressions read: sizes, then parameters, then the device. Each sees the first of them.
using Names = std::span<const ExpressionName>;

constexpr std::pair<std::string_view, Role> kRoles[] = {{"in", Role::in}, {"out", Role::out}, {"inout", Role::inout},
    {"scratch", Role::scratch}, {"constant", Role::constant}};
constexpr std::pair<std::string_view, Fill> kFills[] = {{"uniform", Fill::uniform}, {"normal", Fill::normal},
    {"integers", Fill::integers}, {"ramp", Fill::ramp}, {"zeros", Fill::zeros}};

template <typename Value, std::size_t Size>
std::optional<Value> find_named(const std::pair<std::string_view, Value> (&all)[Size], std::string_view name) {
  for (const auto& [known, value] : all) {
    if (known == name) return value;
  }
  return std::nullopt;
}

template <typename Value, std::size_t Size>
Value named(const Field& field, const std::pair<std::string_view, Value> (&all)[Size]) {
  if (const auto found = find_named(all, field.line())) return *found;
  field.fail(fmt::format("one of {}", fmt::join(all | std::views::keys, ", ")));
}

/// "f32[rows][cols]": the element type, then an extent in brackets for each dimension. A value has none.
void read_type(const Field& field, Names names, Argument& argument) {
  const std::string text = field.line();
  const std::size_t open = std::min(text.find('['), text.size());
  argument.type = find_element_type(text.substr(0, open));
  if (argument.type == nullptr)
    field.fail(fmt::format("one of {}, with extents in brackets of a buffer: f32[rows][cols]",
        fmt::join(element_types() | std::views::transform(&ElementType::name), ", ")));
  for (std::size_t at = open; at < text.size();) {
    const std::size_t close = text.find(']', at);
    if (text[at] != '[' || close == std::string::npos || argument.extents.size() == kMostExtents)
      field.fail("an element type, with extents in brackets of a buffer: f32[rows][cols]");
    argument.extents.push_back(field.expression_of(text.substr(at + 1, close - at - 1), names));
    at = close + 1;
  }
}

/// A file of the folder that the field names.
std::filesystem::path file_of(const Field& field, const std::filesystem::path& folder) {
  const std::string name = field.line();
  std::error_code ignored;
  if (!is_inside(name) || !std::filesystem::is_regular_file(folder / name, ignored))
    field.fail("the name of a file in the folder");
  return folder / name;
}

/// {"x": "f32[n]", "role": "in", "fill": "normal"}, or {"n": "s32", "value": "n"}: the field that is none of the others is
/// the argument's name.
Argument argument_of(const Field& field, Names names, const std::filesystem::path& folder) {
  Argument argument;
  for (const auto& [name, value] : field.members(4)) {
    if (name == "role" || name == "fill" || name == "value") continue;
    if (!argument.name.empty()) field.fail("one argument, its name with its type");
    argument.name = name;
    if (!is_c_name(name)) value.refuse(fmt::format("expected {}", kCNameMeans));
    read_type(value, names, argument);
  }
  if (argument.name.empty()) field.fail("an argument's name with its type, as \"x\": \"f32[n]\"");
  const bool is_value = argument.extents.empty();
  if (is_value) {
    for (const char* other : {"role", "fill"}) {
      if (field.has(other)) field.at(other).fail("none: a value has no brackets, and only buffers have this");
    }
    argument.role = Role::value;
    if (argument.type->is_float() && argument.type->bytes < 4) field.fail("a value of f32 or f64, or of an integer");
    if (argument.type->is_float()) argument.real = field.at("value").real();
    else argument.value = field.at("value").expression(names);
    return argument;
  }
  if (field.has("value")) field.at("value").fail("none: the argument is a buffer");
  argument.role =
      field.has("role") ? named(field.at("role"), kRoles) : find_named(kRoles, argument.name).value_or(Role::in);
  if (!field.has("fill")) return argument;
  if (!is_input(argument.role) && argument.role != Role::inout)
    field.at("fill").fail("none: the kernel does not read what is there before");
  const Field fill = field.at("fill");
  if (fill.is_object()) {
    fill.allow_only({"file"});
    argument.fill = Fill::file;
    argument.file = file_of(fill.at("file"), folder);
  } else {
    argument.fill = named(fill, kFills);
  }
  return argument;
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

/// A launch that names no entry has that of the field around it.
std::vector<UserLaunch> own_launches(const Field& around, Names names) {
  return launches_of(around.at("launch"), kMostLaunches, names, [&](const Field& launch) {
    return entry_of(launch.has("entry") || !around.has("entry") ? launch.at("entry") : around.at("entry"));
  });
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

/// The result of this name.
Argument& result_of(Definition& parts, const std::string& name, const Field& field, const char* what) {
  const auto found = std::ranges::find(parts.arguments, name, &Argument::name);
  if (found == parts.arguments.end() || !is_a_result(*found))
    field.fail(fmt::format("no {}: it is no out or inout argument", what));
  return *found;
}

/// Of floating-point results it must be said; integers are exact unless it is.
void read_tolerances(const Field& file, Definition& parts) {
  const bool any = file.has("tolerance");
  if (any && !parts.reference) file.at("tolerance").fail("none: there is no reference to compare with");
  if (!parts.reference) return;
  if (any) {
    for (const auto& [name, field] : file.at("tolerance").members(kMostArguments))
      result_of(parts, name, field, "tolerance").tolerance = tolerance_of(field);
  }
  const bool has_kernels = !parts.reference->launches.empty();
  for (Argument& argument : parts.arguments) {
    const bool compared = is_a_result(argument) && (has_kernels || !argument.expected.empty());
    if (!compared || argument.tolerance) continue;
    if (argument.type->is_float())
      file.fail(
          fmt::format("\"tolerance\" with \"{}\": floating-point results differ from a reference's", argument.name));
    argument.tolerance = Tolerance{};
  }
}

std::string text_of(const Field& field, const std::filesystem::path& folder) {
  return template_text(folder, file_of(field, folder).lexically_relative(folder).string());
}

/// Plain kernels, or {"files": {"out": "expected.bin"}}: a file for each result.
Reference reference_of(const Field& field, const std::filesystem::path& folder, Names names, Definition& parts) {
  field.allow_only({"source", "entry", "launch", "files"});
  if (!field.has("files")) return {text_of(field.at("source"), folder), own_launches(field, names)};
  for (const char* other : {"source", "entry", "launch"}) {
    if (field.has(other)) field.at(other).fail("none: there are files");
  }
  for (const auto& [name, file] : field.at("files").members(kMostArguments))
    result_of(parts, name, file, "file").expected = file_of(file, folder);
  return {};
}

/// Reads sizes and parameters; what expressions may read grows by each.
void read_names(const Field& file, Definition& parts, std::vector<ExpressionName>& names) {
  const auto add = [&](const std::string& name, const Field& field) {
    if (!is_c_name(name)) field.refuse(fmt::format("expected {}", kCNameMeans));
    if (std::ranges::find(kDeviceNames, name) != kDeviceNames.end() ||
        std::ranges::find(names, name, &ExpressionName::name) != names.end())
      field.refuse("the name means something else already, expected another");
    names.push_back({name, names.size()});
  };
  if (file.has("sizes")) {
    for (const auto& [name, field] : file.at("sizes").members(kMostSizes)) {
      add(name, field);
      parts.sizes.emplace_back(name, field.integer(1, kMaxSize));
    }
  }
  parts.parameters = parameters_of(file.at("parameters"), add);
}

void read_proof(const Field& file, const std::filesystem::path& folder, Names names, Definition& parts) {
  if (file.has("reference")) parts.reference = reference_of(file.at("reference"), folder, names, parts);
  read_tolerances(file, parts);
  if (!file.has("proof_sizes")) return;
  if (parts.reference && parts.reference->launches.empty())
    file.at("proof_sizes").fail("none: the reference's files are results at the sizes of kernel.json alone");
  for (const Field& field : file.at("proof_sizes").elements(1, kMostProofSizes)) {
    for (auto& [name, value] : parts.proof_sizes.emplace_back(SizedKernel{parts.name, parts.sizes}).sizes) {
      if (field.has(name.c_str())) value = field.at(name).integer(1, kMaxSize);
    }
    for (const auto& [name, value] : field.members(kMostSizes)) {
      if (std::ranges::find(names, name, &ExpressionName::name) == names.end())
        value.fail("no value, there is no such size");
    }
  }
}

Definition definition_of(const Field& file, const std::filesystem::path& folder) {
  file.allow_only({"name", "summary", "source", "entry", "sizes", "arguments", "parameters", "rules", "launch",
      "reference", "tolerance", "proof_sizes", "deterministic", "work"});
  Definition parts;
  parts.name = file.at("name").line();
  if (!is_c_name(parts.name)) file.at("name").fail(kCNameMeans);
  if (file.has("summary")) parts.summary = file.at("summary").line();
  parts.text = text_of(file.at("source"), folder);
  std::vector<ExpressionName> names;
  read_names(file, parts, names);
  const std::vector<ExpressionName> of_launches = names;
  const Names of_sizes = Names(of_launches).first(parts.sizes.size());
  for (const Field& field : file.at("arguments").elements(1, kMostArguments)) {
    parts.arguments.push_back(argument_of(field, of_sizes, folder));
    if (std::ranges::count(parts.arguments, parts.arguments.back().name, &Argument::name) > 1)
      field.fail("each name once");
  }
  if (std::ranges::none_of(parts.arguments, is_a_result))
    file.at("arguments").fail("an argument whose role is out or inout");
  for (const std::string_view name : kDeviceNames) names.push_back({std::string(name), names.size()});
  parts.rules = rules_of(file, false, names);
  parts.launches = own_launches(file, of_launches);
  if (file.has("deterministic")) parts.deterministic = file.at("deterministic").flag();
  read_proof(file, folder, of_sizes, parts);
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
  if (parts.reference) all += parts.reference->text;
  for (const auto of : {&Argument::expected, &Argument::file}) {
    for (const Argument& argument : parts.arguments) {
      if (!(argument.*of).empty()) all += content_hash(read_bytes(argument.*of));
    }
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
  Definition parts = definition_of(Field(json, path), folder);
  parts.proof = proof_of(json, parts);
  parts.content = content_hash(text + '\0' + parts.text + '\0' + parts.proof);
  return std::make_unique<Kernel>(std::move(parts));
}

}  // namespace tilesmith::own
