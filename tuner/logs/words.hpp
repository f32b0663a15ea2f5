// Pieces of a log's line. What is wrong with one is thrown as std::string: "rows is 'x', expected an integer of at
// least 0".
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilesmith::tuner {

/// A word as an error may show it: no control or foreign bytes, and short.
std::string shown_word(std::string_view word);

std::vector<std::string_view> split_at(std::string_view text, char at);
/// `words` has a space before and behind each.
bool is_in(std::string_view words, std::string_view word);

inline constexpr std::int64_t kLeastInteger = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kMostInteger = std::numeric_limits<std::int64_t>::max();
std::int64_t integer_of(
    std::string_view word, std::string_view name, std::int64_t least = 0, std::int64_t most = kMostInteger);
/// The distance of a batch's matrices, if they lie one behind the other; the largest integer where it is larger.
std::int64_t packed_stride(std::int64_t ld, std::int64_t vectors);
/// A number, as alpha and beta are.
double number_of(std::string_view word, std::string_view name);
/// cublasOperation_t of a letter in either case.
int transpose_of(std::string_view letter, std::string_view expected);
/// 0x or 0X and hexadecimal digits.
const void* pointer_of(std::string_view word, std::string_view name);

/// `key=value key=[key=value key=[..]]`: what stands in brackets is one value.
class Fields {
 public:
  explicit Fields(std::string_view text);
  std::optional<std::string_view> find(std::string_view key) const;
  /// Throws where there is none.
  std::string_view get(std::string_view key) const;
  std::string_view get(std::string_view key, std::string_view otherwise) const { return find(key).value_or(otherwise); }
  std::int64_t integer(
      std::string_view key, std::int64_t otherwise, std::int64_t least = 0, std::int64_t most = kMostInteger) const;
  bool has_only(std::string_view keys) const;  // as is_in() takes them

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
