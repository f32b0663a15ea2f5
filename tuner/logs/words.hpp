// Pieces of a log's line. What is wrong with one is thrown as std::string: "rows is 'x', expected an integer of at least 0".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilesmith::tuner {

/// A word as an error may show it: no control or foreign bytes, and short.
std::string shown_word(std::string_view word);

std::vector<std::string_view> split_at(std::string_view text, char at);

/// At least `least`; at most what an int64 holds.
std::int64_t integer_of(std::string_view word, std::string_view name, std::int64_t least = 0);
/// A number, as alpha and beta are.
double number_of(std::string_view word, std::string_view name);
/// 0x or 0X and hexadecimal digits.
const void* pointer_of(std::string_view word, std::string_view name);

/// `key=value key=[key=value key=value]`: what stands in brackets is one value.
class Fields {
 public:
  explicit Fields(std::string_view text);
  std::optional<std::string_view> find(std::string_view key) const;
  /// Throws where there is none.
  std::string_view get(std::string_view key) const;
  std::string_view get(std::string_view key, std::string_view otherwise) const { return find(key).value_or(otherwise); }
  std::int64_t integer(std::string_view key, std::int64_t otherwise) const;

 private:
  std::vector<std::pair<std::string_view, std::string_view>> fields_;
};

struct NamedValue {
  std::string_view name;
  int value;
};
/// Of a table; `otherwise` where it has no such name.
template <typename Table>
int value_named(const Table& table, std::string_view name, int otherwise) {
  for (const NamedValue& one : table) {
    if (one.name == name) return one.value;
  }
  return otherwise;
}

}  // namespace tilesmith::tuner
