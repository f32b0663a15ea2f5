// A config: a family and a value for each of its named parameters.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilesmith {

class Config {
 public:
  using Value = std::pair<std::string, int>;

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
