#include "tuner/report/telemetry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "tuner/report/utc.hpp"

namespace tilesmith::tuner::report {
namespace {

bool lower(const Reading& a, const Reading& b) { return a.value < b.value; }

Series series_of(const std::string& name, const std::string& unit, const std::vector<const db::Evidence*>& entries,
                 const std::function<std::optional<double>(const db::Timing&)>& value_of) {
  Series series;
  series.name = name;
  series.unit = unit;
  for (const db::Evidence* entry : entries) {
    if (!entry->outcome.timing) continue;
    const auto time = utc_seconds(entry->created_at);
    const auto value = value_of(*entry->outcome.timing);
    if (time && value && std::isfinite(*value)) series.readings.push_back({*time, *value, false});
  }
  return series;
}

template <typename IsMarked>
void mark(Series& series, const std::string& what, const IsMarked& is_marked) {
  series.mark = what;
  for (Reading& reading : series.readings) {
    reading.marked = is_marked(reading.value);
    series.marked += reading.marked ? 1 : 0;
  }
}

/// 0 stands for unknown.
std::optional<double> known(double value) { return value > 0 ? std::optional(value) : std::nullopt; }

}  // namespace

double Series::lowest() const { return std::min_element(readings.begin(), readings.end(), lower)->value; }
double Series::highest() const { return std::max_element(readings.begin(), readings.end(), lower)->value; }

double Series::median() const {
  std::vector<double> values;
  for (const Reading& reading : readings) values.push_back(reading.value);
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Telemetry telemetry_of(const db::DeviceIdentity& device, const std::vector<const db::Evidence*>& entries) {
  Telemetry telemetry;
  telemetry.device = device;
  telemetry.timed = std::size_t(std::count_if(entries.begin(), entries.end(),
                                              [](const db::Evidence* e) { return e->outcome.timing.has_value(); }));
  std::vector<Series> all;
  all.push_back(series_of("SM clock", "MHz", entries, [](const db::Timing& t) { return known(t.clock_mhz); }));
  all.push_back(series_of("Temperature", "°C", entries, [](const db::Timing& t) { return known(t.temperature_c); }));
  all.push_back(series_of("Power", "W", entries, [](const db::Timing& t) { return known(t.power_w); }));
  all.push_back(series_of("Drift", "%", entries, [](const db::Timing& t) { return 100 * (t.drift - 1); }));
  if (!all[0].readings.empty()) {
    const double least = kLowClock * all[0].highest();
    mark(all[0], fmt::format("below {:.0f}% of the highest", 100 * kLowClock), [&](double mhz) { return mhz < least; });
  }
  mark(all[3], fmt::format("more than {:.0f}% either way: taken although disturbed", 100 * kDisturbedDrift),
       [](double percent) { return std::abs(percent) > 100 * kDisturbedDrift; });
  const bool drifts = std::any_of(all[3].readings.begin(), all[3].readings.end(),
                                  [](const Reading& reading) { return reading.value != 0; });
  if (!drifts) all[3].readings.clear();
  std::erase_if(all, [](const Series& series) { return series.readings.empty(); });
  telemetry.series = std::move(all);
  return telemetry;
}

}  // namespace tilesmith::tuner::report
