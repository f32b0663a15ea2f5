#include "tuner/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "tuner/measure/settling.hpp"
#include "tuner/measure/timing_policy.hpp"

namespace tilesmith::tuner::report {
namespace {

Series series_of(const std::string& name, const std::string& unit, const std::vector<const db::Record*>& entries,
    const std::function<std::optional<double>(const db::Timing&)>& value_of,
    const std::function<bool(const db::Record&)>& is_marked = {}) {
  Series series;
  series.name = name;
  series.unit = unit;
  for (const db::Record* entry : entries) {
    if (!entry->outcome.timing) continue;
    const auto time = utc_seconds(entry->created_at);
    const auto value = value_of(*entry->outcome.timing);
    if (time && value && std::isfinite(*value))
      series.readings.push_back({*time, *value, is_marked && is_marked(*entry)});
  }
  return series;
}

void mark_low(Series& clock) {
  if (clock.readings.empty()) return;
  clock.mark = fmt::format("below {:.0f}% of the highest", 100 * kLowClock);
  const double least = kLowClock * clock.highest();
  for (Reading& reading : clock.readings) reading.marked = reading.value < least;
}

/// Whether the entry's drift is the clock probe's. cold-1 asked it about long launches too.
bool is_by_clock_probe(const db::Record& entry) {
  return is_short(entry.outcome.timing->median_us) || entry.environment.measuring_policy == "cold-1";
}

/// The stopwatch repeats such a measurement, and takes it as it is where repeats do not help.
bool is_disturbed(const db::Record& entry) {
  return is_by_clock_probe(entry) && std::abs(entry.outcome.timing->drift - 1) > kMostClockProbeDrift;
}

/// 0 stands for unknown.
std::optional<double> known(double value) { return value > 0 ? std::optional(value) : std::nullopt; }

}  // namespace

double Series::lowest() const { return std::ranges::min(readings, {}, &Reading::value).value; }
double Series::highest() const { return std::ranges::max(readings, {}, &Reading::value).value; }

double Series::median() const {
  std::vector<double> values;
  for (const Reading& reading : readings) values.push_back(reading.value);
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Telemetry telemetry_of(const db::DeviceIdentity& device, const std::vector<const db::Record*>& entries) {
  Telemetry telemetry;
  telemetry.device = device;
  telemetry.timed = std::size_t(
      std::count_if(entries.begin(), entries.end(), [](const db::Record* e) { return e->outcome.timing.has_value(); }));
  std::vector<Series> all{series_of("SM clock", "MHz", entries, [](const db::Timing& t) { return known(t.clock_mhz); }),
      series_of("Temperature", "°C", entries, [](const db::Timing& t) { return known(t.temperature_c); }),
      series_of("Power", "W", entries, [](const db::Timing& t) { return known(t.power_w); }),
      series_of(
          "Drift", "%", entries, [](const db::Timing& t) { return 100 * (t.drift - 1); }, is_disturbed)};
  mark_low(all[0]);
  all[3].mark = fmt::format(
      "more than {:.0f}% either way by the clock probe: taken although disturbed", 100 * kMostClockProbeDrift);
  for (Series& series : all) series.marked = std::size_t(std::ranges::count(series.readings, true, &Reading::marked));
  if (std::ranges::all_of(all[3].readings, [](const Reading& reading) { return reading.value == 0; }))
    all[3].readings.clear();
  std::erase_if(all, [](const Series& series) { return series.readings.empty(); });
  telemetry.series = std::move(all);
  return telemetry;
}

}  // namespace tilesmith::tuner::report
