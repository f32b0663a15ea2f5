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

/// Of the form that utc_text() writes; nullopt if it is no such time.
std::optional<Instant> parse_utc(const std::string& text) {
  int y = 0, h = 0, min = 0, s = 0, ms = 0;
  unsigned m = 0, d = 0;
  if (std::sscanf(text.c_str(), "%4d-%2u-%2uT%2d:%2d:%2d.%3dZ", &y, &m, &d, &h, &min, &s, &ms) != 7) return std::nullopt;
  const year_month_day date{year(y), month(m), day(d)};
  if (!date.ok()) return std::nullopt;
  const Instant time = sys_days(date) + hours(h) + minutes(min) + seconds(s) + milliseconds(ms);
  if (utc_text(time) != text) return std::nullopt;
  return time;
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

std::string now_utc() {
  return utc_text(floor<milliseconds>(system_clock::now()));
}

std::optional<std::string> normalized_utc(std::string_view text) {
  constexpr std::string_view kPattern = "dddd-dd-ddTdd:dd:dd";
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.size() < kPattern.size() + 1 || text.back() != 'Z') return std::nullopt;
  for (std::size_t i = 0; i < kPattern.size(); ++i) {
    if (kPattern[i] == 'd' ? !is_digit(text[i]) : text[i] != kPattern[i]) return std::nullopt;
  }
  const std::string_view fraction = text.substr(kPattern.size(), text.size() - kPattern.size() - 1);
  if (fraction == ".") return std::nullopt;
  for (std::size_t i = 0; i < fraction.size(); ++i) {
    if (i == 0 ? fraction[i] != '.' : !is_digit(fraction[i])) return std::nullopt;
  }
  std::string milliseconds(fraction.empty() ? "." : fraction.substr(0, 4));
  milliseconds.resize(4, '0');
  std::string normalized = std::string(text.substr(0, kPattern.size())) + milliseconds + "Z";
  if (!parse_utc(normalized)) return std::nullopt;  // a month has so many days
  return normalized;
}

}  // namespace tilesmith::db
