// A config: a family and a value for each of its named parameters.
#pragma once

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
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
  int at(std::string_view parameter) const {
    std::size_t unused = 0;
    return find(parameter, unused);
  }
  /// The same for a name that is written in the source. It is first looked for where that text found it last: rules ask
  /// for the same few names of some hundred thousand configs, whose parameters lie in one order.
  template <std::size_t Size>
  int at(const char (&parameter)[Size]) const {
    thread_local std::array<std::size_t, 64> found_at{};
    const auto address = reinterpret_cast<std::uintptr_t>(&parameter[0]);
    std::size_t& last = found_at[(address ^ address >> 6) % found_at.size()];
    const std::string_view name(parameter);
    return last < values_.size() && values_[last].first == name ? values_[last].second : find(name, last);
  }
  bool has(std::string_view parameter) const;
  void set(std::string_view parameter, int value);

  /// Canonical text, e.g. "wmma{frag_m=16,frag_n=16}", parameters in the order of the family's declaration.
  std::string text() const;
  static std::optional<Config> parse(std::string_view text);

  friend bool operator==(const Config&, const Config&) = default;

 private:
  /// What at() gives; `place`: where it was found.
  int find(std::string_view parameter, std::size_t& place) const;

  std::string family_;
  std::vector<Value> values_;
};

}  // namespace tilesmith
