// One argument of a kernel of a user's own, from kernel.json.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/base/words.hpp"
#include "kernels/families/user/definition_error.hpp"
#include "kernels/families/user/template_text.hpp"
#include "kernels/own/read_argument.hpp"

namespace tilesmith::own {
namespace {

constexpr std::size_t kMostExtents = 8;

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
  const std::string name = field.line();
  std::string expected = "one of ";
  for (const auto& [known, value] : all) expected += fmt::format("{}{}", &known == &all[0].first ? "" : ", ", known);
  if (const auto found = find_named(all, name)) return *found;
  field.fail(expected);
}

/// "f32[rows][cols]": the element type, then an extent in brackets for each dimension. A value has none.
void read_type(const Field& field, std::span<const ExpressionName> names, Argument& argument) {
  constexpr const char* kExpected = "an element type, with extents in brackets of a buffer: f32[rows][cols]";
  const std::string text = field.line();
  const std::size_t open = std::min(text.find('['), text.size());
  argument.type = find_element_type(text.substr(0, open));
  if (argument.type == nullptr) {
    std::string known;
    for (const ElementType& type : element_types()) known += fmt::format("{}{}", known.empty() ? "" : ", ", type.name);
    field.fail(fmt::format("one of {}, with extents in brackets of a buffer: f32[rows][cols]", known));
  }
  for (std::size_t at = open; at < text.size();) {
    const std::size_t close = text.find(']', at);
    if (text[at] != '[' || close == std::string::npos || argument.extents.size() == kMostExtents) field.fail(kExpected);
    argument.extents.push_back(field.expression_of(text.substr(at + 1, close - at - 1), names));
    at = close + 1;
  }
}

}  // namespace

std::filesystem::path file_of(const Field& field, const std::filesystem::path& folder) {
  const std::string name = field.line();
  std::error_code ignored;
  if (!is_inside(name) || !std::filesystem::is_regular_file(folder / name, ignored))
    field.fail("the name of a file in the folder");
  return folder / name;
}

Argument argument_of(const Field& field, std::span<const ExpressionName> names, const std::string& path,
    const std::filesystem::path& folder) {
  Argument argument;
  for (const auto& [name, value] : field.members(4)) {
    if (name == "role" || name == "fill" || name == "value") continue;
    if (!argument.name.empty()) field.fail("one argument, its name with its type");
    argument.name = name;
    if (!is_c_name(name)) throw DefinitionError(fmt::format("{}: arguments: {}: expected {}", path, name, kCNameMeans));
    read_type(value, names, argument);
  }
  if (argument.name.empty()) field.fail("an argument's name with its type, as \"x\": \"f32[n]\"");
  const bool is_value = argument.extents.empty();
  if (is_value) {
    for (const char* other : {"role", "fill"}) {
      if (field.has(other)) field.at(other).fail("none: a value has no brackets, and only buffers have this");
    }
    argument.role = Role::value;
    if (argument.type->is_float && argument.type->bytes < 4) field.fail("a value of f32 or f64, or of an integer");
    if (argument.type->is_float) argument.real = field.at("value").real();
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

}  // namespace tilesmith::own
