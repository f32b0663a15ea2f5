// A roofline a device: how fast each problem runs beside what the device's memory and multiply units allow.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tuner/figures.hpp"
#include "tuner/peaks.hpp"
#include "tuner/report/charts.hpp"
#include "tuner/report/page.hpp"

namespace tilesmith::tuner::report {
namespace {

double us_of(const ProblemFigures& problem) { return problem.best ? problem.best->outcome.timing->median_us : 0; }

double intensity(const Problem& problem) { return problem.flop() / moved_bytes(problem); }

bool has_vendor(const ProblemFigures& problem) { return us_of(problem) > 0 && problem.peer && problem.peer->ratio > 0; }

/// Type pairs by the peak that they share.
std::map<double, std::vector<std::string>> peaks_of(const Report& report, const db::DeviceIdentity& device) {
  std::map<double, std::vector<std::string>> names;
  for (const ProblemFigures& problem : report.problems) {
    if (!(problem.device == device) || !(us_of(problem) > 0)) continue;
    const auto peak = peak_tflops(device, problem.problem.type);
    if (!peak) continue;
    std::vector<std::string>& all = names[*peak];
    const std::string type(problem.problem.type.name);
    if (std::ranges::find(all, type) == all.end()) all.push_back(type);
  }
  return names;
}

/// "f16f32 bf16f32 and 3 more".
std::string short_list(const std::vector<std::string>& names) {
  const std::size_t shown = names.size() <= 3 ? names.size() : 2;
  const std::string first = fmt::format("{}", fmt::join(names.begin(), names.begin() + std::ptrdiff_t(shown), " "));
  return names.size() == shown ? first : fmt::format("{} and {} more", first, names.size() - shown);
}

/// From where memory's roof meets it, or the leftmost dot, to the right end; memory's roof up to the highest of them.
std::vector<Line> roofs_of(const Report& report, const db::DeviceIdentity& device, const std::vector<Dot>& dots) {
  const double low = std::ranges::min(dots, {}, &Dot::x).x;  // operations a byte
  double high = std::ranges::max(dots, {}, &Dot::x).x;
  std::vector<Line> roofs;
  const double tera_a_byte = memory_gbps(device) * 1e-3;  // TFLOP/s for one operation a byte
  const std::map<double, std::vector<std::string>> peaks = peaks_of(report, device);
  if (tera_a_byte > 0 && !peaks.empty()) high = std::max(high, 1.3 * peaks.rbegin()->first / tera_a_byte);
  if (tera_a_byte > 0) {
    const double end = peaks.empty() ? high : peaks.rbegin()->first / tera_a_byte;
    const double start = std::min(low, end / 2);
    const double middle = std::sqrt(start * end);
    roofs.push_back({{{start, start * tera_a_byte}, {middle, middle * tera_a_byte}, {end, end * tera_a_byte}}, "roof",
        fmt::format("memory {:.0f} GB/s", memory_gbps(device)), 1});
  }
  for (const auto& [peak, types] : peaks) {
    const double start = tera_a_byte > 0 ? peak / tera_a_byte : low;
    roofs.push_back({{{start, peak}, {std::max(high, 1.3 * start), peak}}, "roof",
        fmt::format("{} {}", short_list(types), format_tflops(peak)), 1});
  }
  return roofs;
}

Dot dot_of(const ProblemFigures& problem, std::size_t index, double us, const char* css, const char* whose) {
  const double rate = tflops(problem.problem, us);
  return {intensity(problem.problem), rate, css,
      fmt::format("{}{}: {} {} at {:.3g} operations a byte", whose, name_of(problem.problem), format_tflops(rate),
          rate_unit(problem.problem.type), intensity(problem.problem)),
      fmt::format("r{}", index)};
}

std::string chart_of(const Report& report, const db::DeviceIdentity& device) {
  std::vector<Dot> ours, vendors;
  for (std::size_t i = 0; i < report.problems.size(); ++i) {
    const ProblemFigures& problem = report.problems[i];
    if (!(problem.device == device) || !(us_of(problem) > 0)) continue;
    ours.push_back(dot_of(problem, i, us_of(problem), "ours", ""));
    if (has_vendor(problem))
      vendors.push_back(dot_of(problem, i, us_of(problem) * problem.peer->ratio, "vendor", "cuBLASLt, "));
  }
  if (ours.empty()) return {};
  Scatter chart;
  chart.title = fmt::format("Roofline of {}", db::text(device));
  chart.x_title = "operations a byte";
  chart.y_title = "TFLOP/s, of integers TOPS";
  chart.lines = roofs_of(report, device, ours);
  std::string unknown;
  if (chart.lines.empty())
    unknown = "<p>Neither the bandwidth nor the peak rates of this device are known: it has no roof here.</p>\n";
  chart.dots = std::move(vendors);
  chart.dots.insert(chart.dots.end(), ours.begin(), ours.end());
  return fmt::format("<h3>{}</h3>\n{}", escaped(db::text(device)), unknown) +
         scrolling(scatter(chart), "Roofline of " + db::text(device)) + "\n";
}

}  // namespace

std::string roofline_section(const Report& report) {
  std::string charts;
  for (const db::DeviceIdentity& device : report.devices) charts += chart_of(report, device);
  if (charts.empty()) return {};
  const bool any = std::any_of(report.problems.begin(), report.problems.end(), has_vendor);
  return fmt::format(
             "<p>A dot is the best of a problem; it leads to its row. Operations are 2·M·N·K, bytes those of A, B and D, once each. The roofs are the "
             "device's data-sheet rates: problems left of where they meet are bound by memory, those right of it by the multiply units.{}</p>\n",
             any ? " Hollow dots are cuBLASLt's best." : "") +
         charts;
}

}  // namespace tilesmith::tuner::report
