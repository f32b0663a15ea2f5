// The fields of a JSON file, each read with its check and its name in errors.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/families/user/expression.hpp"

namespace tilesmith {

/// Of families, parameters and kernels.
bool is_identifier(const std::string& text);
inline constexpr const char* kIdentifierMeans =
    "a name of lowercase letters, digits and underscores, at most 32, a letter first";

/// A value of the file and its place there: "parameters.block_m.values[2]". Every function throws DefinitionError naming
/// file and place where the value is another than expected.
class Field {
 public:
  using Json = nlohmann::ordered_json;

  /// The whole file.
  Field(const Json& json, const std::string& file) : json_(&json), file_(&file) {}

  /// Throws "FILE: PLACE: is VALUE, expected ..".
  [[noreturn]] void fail(std::string_view expected) const;
  /// Throws "FILE: PLACE: what".
  [[noreturn]] void refuse(std::string_view what) const;

  /// That it is an object and has no fields but these.
  void allow_only(std::initializer_list<std::string_view> names) const;
  bool has(const char* name) const { return json_->contains(name); }
  /// A member of an object; refused if it is missing.
  Field at(const std::string& name) const;
  std::vector<Field> elements(std::size_t least, std::size_t most) const;      ///< of a list
  std::vector<std::pair<std::string, Field>> members(std::size_t most) const;  ///< of an object, in the file's order

  /// One line of 1 to `longest` characters.
  std::string line(std::size_t longest = 500) const;
  /// is_identifier().
  std::string identifier() const;
  std::int64_t integer(std::int64_t least, std::int64_t most) const;
  bool flag() const;
  /// A text or a whole number.
  Expression expression(std::span<const ExpressionName> names) const;
  /// The same for a part of a text.
  Expression expression_of(std::string_view text, std::span<const ExpressionName> names) const;
  /// A finite number.
  double real() const;
  bool is_list() const { return json_->is_array(); }
  bool is_object() const { return json_->is_object(); }
  bool is_text(std::string_view text) const {
    return json_->is_string() && json_->get_ref<const std::string&>() == text;
  }
  /// As errors show it: a line, and short.
  std::string shown() const;

 private:
  Field(const Json& json, const std::string& file, std::string place)
      : json_(&json), file_(&file), place_(std::move(place)) {}

  const Json* json_;
  const std::string* file_;
  std::string place_;
};

/// Parses a file's text. Throws DefinitionError for what is no JSON, nests deep, or gives a field twice.
Field::Json parse_definition(const std::string& text, const std::string& file);

}  // namespace tilesmith
