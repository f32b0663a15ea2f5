// The picture of `tilesmith simulate --plot`.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tuner/commands/figures.hpp"
#include "tuner/commands/simulation_report.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::array kColours{"#3b6ea8", "#d08c3a", "#2f8f6b", "#b5473c", "#9c6bb0", "#5b9bd5", "#8a6d3b", "#c2579b"};
constexpr const char* kRandomColour = "#777777";
constexpr double kPanelWidth = 460, kPanelHeight = 300;             // px, margins included
constexpr double kLeft = 48, kRight = 14, kTop = 30, kBottom = 40;  // of a panel
constexpr double kHeadHeight = 30;                                  // where the colours are explained
constexpr std::size_t kScaleFrom = 5;  // the fractions of so few evaluations may fall below the scale

struct Scale {
  double low = 0;     // fraction at the bottom; 1 is the top
  double last = 400;  // evaluations at the right edge; 1 is the left one

  double x(double evaluations) const {
    return kLeft + (kPanelWidth - kLeft - kRight) * std::log(evaluations) / std::log(last);
  }
  double y(double fraction) const { return kTop + (kPanelHeight - kTop - kBottom) * (1 - fraction) / (1 - low); }
};

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else
      result += c;
  }
  return result;
}

/// The evaluations at which a curve has a point: all at first, then so that points lie evenly on the logarithmic axis.
std::vector<std::size_t> points_of(std::size_t evaluations) {
  std::vector<std::size_t> points;
  for (std::size_t k = 1; k < evaluations; k = std::max(k + 1, k + k / 50)) points.push_back(k);
  points.push_back(evaluations);
  return points;
}

std::string curve_svg(const Curve& curve, const Scale& scale, std::string_view colour, bool dashed) {
  const std::vector<std::size_t> points = points_of(curve.mean.size());
  std::string line, band;
  for (const std::size_t k : points)
    line += fmt::format("{:.1f},{:.1f} ", scale.x(double(k)), scale.y(curve.mean[k - 1]));
  for (auto k = points.rbegin(); k != points.rend(); ++k) {
    band += fmt::format("{:.1f},{:.1f} ", scale.x(double(*k)), scale.y(curve.tenth[*k - 1]));
  }
  return fmt::format(
      "<polygon points=\"{}{}\" fill=\"{}\" fill-opacity=\"0.12\"/>\n"
      "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"{}/>\n",
      line, band, colour, line, colour, dashed ? " stroke-dasharray=\"5 3\"" : "");
}

/// 1, 2, 5, 10, ..., and the last one if there is room for it.
std::vector<double> ticks_up_to(double last) {
  std::vector<double> ticks;
  for (double decade = 1; decade <= last; decade *= 10) {
    for (const double tick : {decade, 2 * decade, 5 * decade}) {
      if (tick <= last) ticks.push_back(tick);
    }
  }
  if (last > 1.5 * ticks.back()) ticks.push_back(last);
  return ticks;
}

std::string axes_svg(const Scale& scale) {
  std::string svg;
  const double step = scale.low < 0.5 ? 0.2 : scale.low < 0.8 ? 0.1 : 0.05;
  for (int i = 0; 1 - i * step >= scale.low - 1e-9; ++i) {
    const double fraction = 1 - i * step;
    svg += fmt::format(
        "<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>"
        "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.2f}</text>\n",
        kLeft, kPanelWidth - kRight, scale.y(fraction), scale.y(fraction), kLeft - 6, scale.y(fraction) + 4, fraction);
  }
  const double bottom = kPanelHeight - kBottom;
  for (const double tick : ticks_up_to(scale.last)) {
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#eee\"/>"
        "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>\n",
        scale.x(tick), kTop, bottom, bottom + 14, std::size_t(tick));
  }
  return svg + fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">evaluations</text>\n",
                           (kLeft + kPanelWidth - kRight) / 2, bottom + 30);
}

std::string panel_svg(const SimulatedLandscape& landscape, double low, double x, double y) {
  const Scale scale{low, std::max(2.0, double(landscape.random.mean.size()))};
  std::string svg =
      fmt::format("<g transform=\"translate({},{})\">\n<text x=\"{}\" y=\"{}\" font-weight=\"bold\">{}</text>\n", x, y,
                  kLeft, kTop - 10, escaped(landscape.name));
  svg += axes_svg(scale) + "<g clip-path=\"url(#panel)\">\n" + curve_svg(landscape.random, scale, kRandomColour, true);
  for (std::size_t i = 0, colour = 0; i < landscape.strategies.size(); ++i) {
    if (landscape.strategies[i].name == "random") continue;
    svg += curve_svg(landscape.strategies[i].curve, scale, kColours[colour++ % kColours.size()], false);
  }
  return svg + "</g>\n</g>\n";
}

std::string head_svg(const std::vector<SimulatedStrategy>& strategies, const SimulationOptions& options) {
  double x = kLeft;
  std::string svg;
  const auto explain = [&](const std::string& name, std::string_view colour, bool dashed) {
    svg += fmt::format(
        "<line x1=\"{}\" x2=\"{}\" y1=\"16\" y2=\"16\" stroke=\"{}\" stroke-width=\"3\"{}/><text x=\"{}\" "
        "y=\"20\">{}</text>\n",
        x, x + 22, colour, dashed ? " stroke-dasharray=\"5 3\"" : "", x + 28, escaped(name));
    x += 48 + 7.0 * double(name.size());
  };
  explain("random", kRandomColour, true);
  std::size_t colour = 0;
  for (const SimulatedStrategy& one : strategies) {
    if (one.name != "random") explain(one.name, kColours[colour++ % kColours.size()], false);
  }
  return svg +
         fmt::format(
             "<text x=\"{}\" y=\"{}\">fraction of the optimum: mean of {}, band down to the tenth percentile</text>\n",
             kLeft, kHeadHeight + 10, count_of(options.runs, "run"));
}

/// The bottom of all scales: a tenth that lies below every mean but the first few.
double lowest(const std::vector<SimulatedLandscape>& landscapes) {
  double low = 0.9;
  const auto look_at = [&](const Curve& curve) {
    if (!curve.mean.empty()) low = std::min(low, curve.mean[std::min(kScaleFrom, curve.mean.size()) - 1]);
  };
  for (const SimulatedLandscape& landscape : landscapes) {
    look_at(landscape.random);
    for (const SimulatedStrategy& one : landscape.strategies) look_at(one.curve);
  }
  return std::floor(10 * low + 1e-9) / 10;
}

}  // namespace

std::string simulation_plot(const std::vector<SimulatedLandscape>& landscapes, const SimulationOptions& options) {
  const std::size_t columns = landscapes.size() < 2 ? 1 : landscapes.size() <= 6 ? 2 : 4;
  const std::size_t rows = (landscapes.size() + columns - 1) / columns;
  const double width = kPanelWidth * double(columns);
  const double head = kHeadHeight + 18;
  const double height = head + kPanelHeight * double(rows);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
      "<clipPath id=\"panel\"><rect x=\"{2}\" y=\"{3}\" width=\"{4}\" height=\"{5}\"/></clipPath>\n",
      width, height, kLeft, kTop - 2, kPanelWidth - kLeft - kRight, kPanelHeight - kTop - kBottom + 2);
  svg += head_svg(landscapes.front().strategies, options);
  const double low = lowest(landscapes);
  for (std::size_t i = 0; i < landscapes.size(); ++i) {
    svg += panel_svg(landscapes[i], low, kPanelWidth * double(i % columns), head + kPanelHeight * double(i / columns));
  }
  return svg + "</svg>\n";
}

}  // namespace tilesmith::tuner
