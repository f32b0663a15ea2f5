// Times and identifiers of entries and runs.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <optional>
#include <random>

#include "db/store/store.hpp"

namespace tilesmith::db {

using namespace std::chrono;

std::string new_uuid() {
  std::random_device entropy;
  std::array<std::uint32_t, 4> words{};
  for (std::uint32_t& word : words) word = entropy();
  words[1] = (words[1] & 0xffff0fffu) | 0x00004000u;  // version 4
  words[2] = (words[2] & 0x3fffffffu) | 0x80000000u;  // variant of RFC 4122
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:04x}{:08x}", words[0], words[1] >> 16, words[1] & 0xffffu,
      words[2] >> 16, words[2] & 0xffffu, words[3]);
}

std::string utc_text(std::int64_t since_1970) {
  const sys_time<milliseconds> time{milliseconds(since_1970)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", int(date.year()), unsigned(date.month()),
      unsigned(date.day()), clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
      clock.subseconds().count());
}

std::string now_utc() { return utc_text(floor<milliseconds>(system_clock::now()).time_since_epoch().count()); }

std::optional<std::int64_t> utc_milliseconds(std::string_view text) {
  constexpr std::size_t kSecondsEnd = 19;  // of "2026-01-31T23:59:59"
  if (text.size() <= kSecondsEnd || text.back() != 'Z') return std::nullopt;
  const std::string_view fraction = text.substr(kSecondsEnd, text.size() - kSecondsEnd - 1);
  const bool is_fraction = fraction.size() > 1 && fraction[0] == '.' &&
                           fraction.find_first_not_of("0123456789", 1) == std::string_view::npos;
  if (!fraction.empty() && !is_fraction) return std::nullopt;
  std::string whole(text.substr(0, kSecondsEnd));
  whole += fraction.empty() ? "." : fraction.substr(0, 4);
  whole.resize(kSecondsEnd + 4, '0');
  whole += 'Z';
  int y = 0, h = 0, min = 0, s = 0, ms = 0;
  unsigned m = 0, d = 0;
  if (std::sscanf(whole.c_str(), "%4d-%2u-%2uT%2d:%2d:%2d.%3dZ", &y, &m, &d, &h, &min, &s, &ms) != 7 || y < 0)
    return std::nullopt;
  const year_month_day date{year(y), month(m), day(d)};
  if (!date.ok()) return std::nullopt;
  const auto time = sys_days(date) + hours(h) + minutes(min) + seconds(s) + milliseconds(ms);
  const std::int64_t since_1970 = time.time_since_epoch().count();
  return utc_text(since_1970) == whole ? std::optional(since_1970) : std::nullopt;
}

std::optional<std::string> normalized_utc(std::string_view text) {
  const auto since_1970 = utc_milliseconds(text);
  return since_1970 ? std::optional(utc_text(*since_1970)) : std::nullopt;
}

}  // namespace tilesmith::db
