// Times and identifiers of entries and runs.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <optional>
#include <random>

#include "db/store/store.hpp"

namespace tilesmith::db {
namespace {

using namespace std::chrono;
using Instant = sys_time<milliseconds>;

std::string utc_text(Instant time) {
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", int(date.year()), unsigned(date.month()),
      unsigned(date.day()), clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
      clock.subseconds().count());
}

/// Whether it is a time in the form that utc_text() writes.
bool is_utc(const std::string& text) {
  int y = 0, h = 0, min = 0, s = 0, ms = 0;
  unsigned m = 0, d = 0;
  if (std::sscanf(text.c_str(), "%4d-%2u-%2uT%2d:%2d:%2d.%3dZ", &y, &m, &d, &h, &min, &s, &ms) != 7 || y < 0)
    return false;
  const year_month_day date{year(y), month(m), day(d)};
  return date.ok() && utc_text(sys_days(date) + hours(h) + minutes(min) + seconds(s) + milliseconds(ms)) == text;
}

}  // namespace

std::string new_uuid() {
  std::random_device entropy;
  std::array<std::uint32_t, 4> words{};
  for (std::uint32_t& word : words) word = entropy();
  words[1] = (words[1] & 0xffff0fffu) | 0x00004000u;  // version 4
  words[2] = (words[2] & 0x3fffffffu) | 0x80000000u;  // variant of RFC 4122
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:04x}{:08x}", words[0], words[1] >> 16, words[1] & 0xffffu,
      words[2] >> 16, words[2] & 0xffffu, words[3]);
}

std::string now_utc() { return utc_text(floor<milliseconds>(system_clock::now())); }

std::optional<std::string> normalized_utc(std::string_view text) {
  constexpr std::size_t kSecondsEnd = 19;  // of "2026-01-31T23:59:59"
  if (text.size() <= kSecondsEnd || text.back() != 'Z') return std::nullopt;
  const std::string_view fraction = text.substr(kSecondsEnd, text.size() - kSecondsEnd - 1);
  const bool is_fraction = fraction.size() > 1 && fraction[0] == '.' &&
                           fraction.find_first_not_of("0123456789", 1) == std::string_view::npos;
  if (!fraction.empty() && !is_fraction) return std::nullopt;
  std::string normalized(text.substr(0, kSecondsEnd));
  normalized += fraction.empty() ? "." : fraction.substr(0, 4);
  normalized.resize(kSecondsEnd + 4, '0');
  normalized += 'Z';
  return is_utc(normalized) ? std::optional(normalized) : std::nullopt;
}

}  // namespace tilesmith::db
