#include "tuner/report/utc.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "db/store/record.hpp"

namespace tilesmith::tuner::report {
namespace {

using namespace std::chrono;

int number_at(const std::string& text, std::size_t at, std::size_t digits) {
  return std::atoi(text.substr(at, digits).c_str());
}

/// "2026-01-31", the separator, "23:59:59.123".
std::string written(double seconds, char separator) {
  const sys_time<milliseconds> time{milliseconds(std::llround(seconds * 1000))};
  const auto midnight = floor<days>(time);
  const year_month_day date{midnight};
  const hh_mm_ss clock{time - midnight};
  return fmt::format("{:04}-{:02}-{:02}{}{:02}:{:02}:{:02}.{:03}", int(date.year()), unsigned(date.month()),
      unsigned(date.day()), separator, clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
      clock.subseconds().count());
}

}  // namespace

std::optional<double> utc_seconds(std::string_view given) {
  const auto normalized = db::normalized_utc(given);
  if (!normalized) return std::nullopt;
  const std::string& text = *normalized;
  const year_month_day date{
      year(number_at(text, 0, 4)), month(unsigned(number_at(text, 5, 2))), day(unsigned(number_at(text, 8, 2)))};
  if (!date.ok()) return std::nullopt;
  const double midnight = double(sys_days(date).time_since_epoch().count()) * 86400;
  return midnight + number_at(text, 11, 2) * 3600 + number_at(text, 14, 2) * 60 + number_at(text, 17, 2) +
         number_at(text, 20, 3) * 1e-3;
}

std::string utc_text(double seconds) { return written(seconds, 'T') + "Z"; }

std::string utc_minutes(double seconds) { return written(seconds, ' ').substr(0, 16); }

std::optional<double> parse_moment(std::string_view text) {
  std::string whole(text);
  if (!whole.empty() && whole.back() == 'Z') whole.pop_back();
  if (whole.size() == 10) whole += "T00:00:00";
  if (whole.size() == 16) whole += ":00";
  if (whole.size() > 10 && whole[10] == ' ') whole[10] = 'T';
  return utc_seconds(whole + "Z");
}

}  // namespace tilesmith::tuner::report
