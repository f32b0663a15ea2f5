// The picture of `tilesmith simulate --plot`.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tuner/cli/output/simulation_report.hpp"
#include "tuner/figures.hpp"
#include "tuner/svg.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::array kColours{"#3b6ea8", "#d08c3a", "#2f8f6b", "#b5473c", "#9c6bb0", "#5b9bd5", "#8a6d3b", "#c2579b"};
constexpr const char* kRandomColour = "#777777";
constexpr double kPanelWidth = 460, kPanelHeight = 300;             // px, margins included
constexpr double kLeft = 48, kRight = 14, kTop = 30, kBottom = 40;  // of a panel
constexpr double kHeadHeight = 30;                                  // where the colours are explained
constexpr std::size_t kScaleFrom = 5;  // the fractions of so few evaluations may fall below the scale

/// Of a panel: evaluations from left to right, fractions up to 1 from the bottom to the top.
struct Axes {
  svg::Scale x, y;

  Axes(double low, double last)
      : x{1, last, kLeft, kPanelWidth - kRight, true}, y{low, 1, kPanelHeight - kBottom, kTop} {}
};

/// The evaluations at which a curve has a point: all at first, then so that points lie evenly on the logarithmic axis.
std::vector<std::size_t> points_of(std::size_t evaluations) {
  std::vector<std::size_t> points;
  for (std::size_t k = 1; k < evaluations; k = std::max(k + 1, k + k / 50)) points.push_back(k);
  points.push_back(evaluations);
  return points;
}

std::string curve_svg(const Curve& curve, const Axes& axes, std::string_view colour, bool dashed) {
  if (curve.mean.empty()) return "";
  const std::vector<std::size_t> points = points_of(curve.mean.size());
  svg::Points mean, tenth;
  for (const std::size_t k : points) mean.emplace_back(axes.x.at(double(k)), axes.y.at(curve.mean[k - 1]));
  for (auto k = points.rbegin(); k != points.rend(); ++k) {
    tenth.emplace_back(axes.x.at(double(*k)), axes.y.at(curve.tenth[*k - 1]));
  }
  const std::string line = svg::points_text(mean);
  return fmt::format(
      "<polygon points=\"{}{}\" fill=\"{}\" fill-opacity=\"0.12\"/>\n"
      "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"{}/>\n",
      line, svg::points_text(tenth), colour, line, colour, dashed ? " stroke-dasharray=\"5 3\"" : "");
}

std::string axes_svg(const Axes& axes) {
  std::string text;
  const double step = axes.y.low < 0.5 ? 0.2 : axes.y.low < 0.8 ? 0.1 : 0.05;
  for (int i = 0; 1 - i * step >= axes.y.low - 1e-9; ++i) {
    const double fraction = 1 - i * step;
    text += fmt::format(
        "<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>"
        "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.2f}</text>\n",
        kLeft, kPanelWidth - kRight, axes.y.at(fraction), axes.y.at(fraction), kLeft - 6, axes.y.at(fraction) + 4,
        fraction);
  }
  const double bottom = kPanelHeight - kBottom;
  for (const double tick : svg::decade_ticks(axes.x.high)) {
    text += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#eee\"/>"
        "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>\n",
        axes.x.at(tick), kTop, bottom, bottom + 14, std::size_t(tick));
  }
  return text + fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">evaluations</text>\n",
                    (kLeft + kPanelWidth - kRight) / 2, bottom + 30);
}

std::string panel_svg(const SimulatedRecording& recording, double low, double x, double y) {
  const Axes axes{low, std::max(2.0, double(recording.random.mean.size()))};
  std::string text =
      fmt::format("<g transform=\"translate({},{})\">\n<text x=\"{}\" y=\"{}\" font-weight=\"bold\">{}</text>\n", x, y,
          kLeft, kTop - 10, svg::escaped(recording.name));
  text += axes_svg(axes) + "<g clip-path=\"url(#panel)\">\n" + curve_svg(recording.random, axes, kRandomColour, true);
  for (std::size_t i = 0, colour = 0; i < recording.strategies.size(); ++i) {
    if (recording.strategies[i].name == "random") continue;
    text += curve_svg(recording.strategies[i].curve, axes, kColours[colour++ % kColours.size()], false);
  }
  return text + "</g>\n</g>\n";
}

std::string head_svg(const std::vector<SimulatedStrategy>& strategies, const SimulationOptions& options) {
  double x = kLeft;
  std::string text;
  const auto explain = [&](const std::string& name, std::string_view colour, bool dashed) {
    text += fmt::format(
        "<line x1=\"{}\" x2=\"{}\" y1=\"16\" y2=\"16\" stroke=\"{}\" stroke-width=\"3\"{}/><text x=\"{}\" "
        "y=\"20\">{}</text>\n",
        x, x + 22, colour, dashed ? " stroke-dasharray=\"5 3\"" : "", x + 28, svg::escaped(name));
    x += 48 + 7.0 * double(name.size());
  };
  explain("random", kRandomColour, true);
  std::size_t colour = 0;
  for (const SimulatedStrategy& one : strategies) {
    if (one.name != "random") explain(one.name, kColours[colour++ % kColours.size()], false);
  }
  return text +
         fmt::format(
             "<text x=\"{}\" y=\"{}\">fraction of the optimum: mean of {}, band down to the tenth percentile</text>\n",
             kLeft, kHeadHeight + 10, count_of(options.runs, "run"));
}

/// The bottom of all scales: a tenth that lies below every mean but the first few.
double lowest(const std::vector<SimulatedRecording>& recordings) {
  double low = 0.9;
  const auto look_at = [&](const Curve& curve) {
    if (!curve.mean.empty()) low = std::min(low, curve.mean[std::min(kScaleFrom, curve.mean.size()) - 1]);
  };
  for (const SimulatedRecording& recording : recordings) {
    look_at(recording.random);
    for (const SimulatedStrategy& one : recording.strategies) look_at(one.curve);
  }
  return std::floor(10 * low + 1e-9) / 10;
}

}  // namespace

std::string simulation_plot(const std::vector<SimulatedRecording>& recordings, const SimulationOptions& options) {
  const std::size_t columns = recordings.size() < 2 ? 1 : recordings.size() <= 6 ? 2 : 4;
  const std::size_t rows = (recordings.size() + columns - 1) / columns;
  const double width = kPanelWidth * double(columns);
  const double head = kHeadHeight + 18;
  const double height = head + kPanelHeight * double(rows);
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
      "<clipPath id=\"panel\"><rect x=\"{2}\" y=\"{3}\" width=\"{4}\" height=\"{5}\"/></clipPath>\n",
      width, height, kLeft, kTop - 2, kPanelWidth - kLeft - kRight, kPanelHeight - kTop - kBottom + 2);
  text += head_svg(recordings.front().strategies, options);
  const double low = lowest(recordings);
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    text += panel_svg(recordings[i], low, kPanelWidth * double(i % columns), head + kPanelHeight * double(i / columns));
  }
  return text + "</svg>\n";
}

}  // namespace tilesmith::tuner
