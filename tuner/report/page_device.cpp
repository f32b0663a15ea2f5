// Clocks, temperatures and power over the night.
#include <fmt/format.h>

#include <cmath>

#include "tuner/figures.hpp"
#include "tuner/report/charts.hpp"
#include "tuner/report/page.hpp"

namespace tilesmith::tuner::report {
namespace {

std::string value_text(double value) { return fmt::format("{:.{}f}", value, std::abs(value) < 100 ? 1 : 0); }

std::string figure(const Series& series, const Report& report) {
  std::string caption = fmt::format("<strong>{}</strong> median {} {}, {} to {}", escaped(series.name),
      value_text(series.median()), escaped(series.unit), value_text(series.lowest()), value_text(series.highest()));
  if (series.marked > 0) {
    caption += fmt::format(R"(; <span class="marked">{} {}</span>)", format_count(series.marked), escaped(series.mark));
  }
  return fmt::format("<figure><figcaption>{}</figcaption>{}</figure>\n", caption,
      scrolling(time_series(series, report.selection.stretches), series.name + " over time"));
}

}  // namespace

std::string device_section(const Report& report) {
  std::string text;
  for (const Telemetry& telemetry : report.telemetry) {
    text += fmt::format("<h3>{}</h3>\n", escaped(db::text(telemetry.device)));
    if (telemetry.series.empty()) {
      text += telemetry.timed == 0 ? "<p>No candidate was timed, so nothing was read.</p>\n"
                                   : "<p>The device told neither clock, temperature nor power.</p>\n";
    }
    for (const Series& series : telemetry.series) text += figure(series, report);
  }
  if (text.empty()) return "<p>No candidate was timed, so nothing was read.</p>\n";
  return "<p>Read as each candidate was timed; a band spans what was read within two pixels, the line is the median. "
         "Pauses in which no run was at work are cut out. Drift is what the times are already freed of: for launches "
         "below 50 µs how much slower the clock probe, a fixed kernel, ran than at the start; for longer ones how much "
         "slower another config, timed in turn with them, ran than its known time. Candidates timed while the device "
         "was throttled are timed again later, and the times kept only where that did not help. Marked are low clocks, "
         "and short launches that were taken although the clock probe told of a disturbance.</p>\n" +
         text;
}

}  // namespace tilesmith::tuner::report
