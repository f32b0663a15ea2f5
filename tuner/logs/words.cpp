#include "tuner/logs/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace tilesmith::tuner {

std::string shown_word(std::string_view word) {
  constexpr std::size_t kLongest = 64;
  std::string result;
  for (const char c : word.substr(0, kLongest)) result += c >= ' ' && c <= '~' ? c : '?';
  return word.size() > kLongest ? result + "..." : result;
}

std::vector<std::string_view> split_at(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (std::size_t start = 0;;) {
    const std::size_t end = text.find(at, start);
    parts.push_back(text.substr(start, end - start));
    if (end == std::string_view::npos) return parts;
    start = end + 1;
  }
}

bool is_in(std::string_view words, std::string_view word) {
  return words.find(fmt::format(" {} ", word)) != std::string_view::npos;
}

std::int64_t integer_of(std::string_view word, std::string_view name, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc{} && end == word.data() + word.size() && value >= least && value <= most) return value;
  const bool is_bounded = most != kMostInteger || error == std::errc::result_out_of_range;
  const std::string range = is_bounded ? fmt::format("{} to {}", least, most) : fmt::format("at least {}", least);
  throw fmt::format("{} is '{}', expected an integer of {}", name, shown_word(word), range);
}

std::int64_t packed_stride(std::int64_t ld, std::int64_t vectors) {
  std::int64_t result = 0;
  return __builtin_mul_overflow(ld, vectors, &result) ? kMostInteger : result;
}

double number_of(std::string_view word, std::string_view name) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size())
    throw fmt::format("{} is '{}', expected a number", name, shown_word(word));
  return value;
}

int transpose_of(std::string_view letter, std::string_view expected) {
  const std::size_t at = letter.size() == 1 ? std::string_view("NnTtCc").find(letter) : std::string_view::npos;
  if (at == std::string_view::npos) throw fmt::format("transpose is '{}', expected {}", shown_word(letter), expected);
  return int(at / 2);
}

const void* pointer_of(std::string_view word, std::string_view name) {
  std::uintptr_t value = 0;
  const bool is_hexadecimal = word.size() > 2 && word[0] == '0' && (word[1] == 'x' || word[1] == 'X');
  const auto [end, error] =
      std::from_chars(word.data() + (is_hexadecimal ? 2 : 0), word.data() + word.size(), value, 16);
  if (!is_hexadecimal || error != std::errc{} || end != word.data() + word.size())
    throw fmt::format("{} is '{}', expected an address such as 0X7F45F3FC58D0", name, shown_word(word));
  return reinterpret_cast<const void*>(value);
}

Fields::Fields(std::string_view text) {
  std::size_t at = 0;
  while ((at = text.find_first_not_of(' ', at)) != std::string_view::npos) {
    const std::size_t equals = text.find_first_of("= ", at);
    if (equals == std::string_view::npos || text[equals] == ' ')
      throw fmt::format("'{}' has no value, expected key=value", shown_word(text.substr(at, equals - at)));
    const std::string_view key = text.substr(at, equals - at);
    if (find(key)) throw fmt::format("{}= twice, expected one", shown_word(key));
    const bool in_brackets = equals + 1 < text.size() && text[equals + 1] == '[';
    const std::size_t start = equals + (in_brackets ? 2 : 1);
    std::size_t end = text.find(' ', start);
    if (in_brackets) {
      end = start;
      for (int depth = 1; end < text.size() && (depth += text[end] == '[' ? 1 : text[end] == ']' ? -1 : 0) > 0;) ++end;
      if (end == text.size()) throw fmt::format("{}=[ has no end, expected ]", shown_word(key));
    }
    end = end == std::string_view::npos ? text.size() : end;
    fields_.emplace_back(key, text.substr(start, end - start));
    at = end + (in_brackets ? 1 : 0);
  }
}

std::optional<std::string_view> Fields::find(std::string_view key) const {
  for (const auto& [name, value] : fields_) {
    if (name == key) return value;
  }
  return std::nullopt;
}

std::string_view Fields::get(std::string_view key) const {
  if (const auto value = find(key)) return *value;
  throw fmt::format("no {}= in the line, expected one", key);
}

std::int64_t Fields::integer(
    std::string_view key, std::int64_t otherwise, std::int64_t least, std::int64_t most) const {
  const auto value = find(key);
  return value ? integer_of(*value, key, least, most) : otherwise;
}

bool Fields::has_only(std::string_view keys) const {
  return std::all_of(fields_.begin(), fields_.end(), [keys](const auto& field) { return is_in(keys, field.first); });
}

}  // namespace tilesmith::tuner
