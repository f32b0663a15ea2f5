// A config: a family and a value for each of its named parameters.
#pragma once

#include <compare>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilesmith {

/// The name of a parameter, kept once for the whole program: a space holds some hundred thousand configs, and all of a
/// family's have the same names. Cheap to copy; thread-safe.
class ParameterName {
 public:
  template <std::convertible_to<std::string_view> Text>
  ParameterName(const Text& text) : text_(kept(text)) {}

  const std::string& text() const { return *text_; }

  friend bool operator==(ParameterName a, ParameterName b) { return a.text_ == b.text_; }
  friend auto operator<=>(ParameterName a, ParameterName b) { return *a.text_ <=> *b.text_; }
  template <std::convertible_to<std::string_view> Text>
  friend bool operator==(ParameterName a, const Text& b) {
    return *a.text_ == std::string_view(b);
  }

 private:
  static const std::string* kept(std::string_view text);
  const std::string* text_;
};

class Config {
 public:
  using Value = std::pair<ParameterName, int>;

  Config() = default;
  Config(std::string family, std::vector<Value> values) : family_(std::move(family)), values_(std::move(values)) {}

  const std::string& family() const { return family_; }
  const std::vector<Value>& values() const { return values_; }

  /// The value of a parameter. Throws std::out_of_range naming the config and the parameter if it has none.
  int at(std::string_view parameter) const;
  bool has(std::string_view parameter) const;
  void set(std::string_view parameter, int value);

  /// Canonical text, e.g. "wmma{frag_m=16,frag_n=16}", parameters in the order of the family's declaration.
  std::string text() const;
  static std::optional<Config> parse(std::string_view text);

  friend bool operator==(const Config&, const Config&) = default;

 private:
  std::string family_;
  std::vector<Value> values_;
};

}  // namespace tilesmith
