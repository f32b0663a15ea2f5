#include "runtime/driver/sysfs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <system_error>

namespace tilesmith::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = 4096;
constexpr std::size_t kQuotedBytes = 40;

/// Of a text from outside, what may stand in a message of one line.
std::string quoted(const std::string& text) {
  std::string shown = text.substr(0, kQuotedBytes);
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
  return "'" + shown + (text.size() > kQuotedBytes ? "...'" : "'");
}

/// "thermal_zone10" comes after "thermal_zone9".
std::pair<std::string, long long> name_and_number(const fs::path& path) {
  const std::string name = path.filename().string();
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  long long number = -1;
  std::from_chars(name.data() + digits, name.data() + name.size(), number);
  return {name.substr(0, digits), number};
}

}  // namespace

std::string trimmed(std::string_view text) {
  constexpr std::string_view kBlank(" \t\r\n\0", 5);
  const std::size_t start = text.find_first_not_of(kBlank);
  if (start == std::string_view::npos) return {};
  return std::string(text.substr(start, text.find_last_not_of(kBlank) - start + 1));
}

std::string text_of(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return {};
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostBytes, '\0');
  file.read(text.data(), std::streamsize(text.size()));
  text.resize(std::size_t(std::max<std::streamsize>(0, file.gcount())));
  return trimmed(text);
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    entries.push_back(it->path());
  std::sort(entries.begin(), entries.end(),
      [](const fs::path& a, const fs::path& b) { return name_and_number(a) < name_and_number(b); });
  return entries;
}

std::optional<long long> NumberReader::read(const fs::path& path, long long low, long long high) {
  const std::string text = text_of(path);
  if (text.empty()) return std::nullopt;
  long long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= low && value <= high) return value;
  complaints_.push_back(
      fmt::format("{}: {}, expected a whole number from {} to {}", path.string(), quoted(text), low, high));
  return std::nullopt;
}

}  // namespace tilesmith::runtime
