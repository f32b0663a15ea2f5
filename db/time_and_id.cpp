// Times and identifiers of entries and runs.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <ctime>
#include <random>

#include "db/store.hpp"

namespace tilesmith::db {

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
  using namespace std::chrono;
  const auto now = system_clock::now();
  const auto milliseconds = duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  const std::time_t seconds = system_clock::to_time_t(now);
  std::tm calendar{};
  gmtime_r(&seconds, &calendar);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", calendar.tm_year + 1900, calendar.tm_mon + 1,
                     calendar.tm_mday, calendar.tm_hour, calendar.tm_min, calendar.tm_sec, milliseconds);
}

}  // namespace tilesmith::db
