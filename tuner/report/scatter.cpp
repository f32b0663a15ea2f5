#include "tuner/report/charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilesmith::tuner::report {
namespace {

constexpr double kScatterWidth = 1100, kScatterHeight = 420;
constexpr double kScatterLeft = 72, kScatterRight = 20, kScatterTop = 18, kScatterBottom = 48;
constexpr double kRadius = 4.5;
constexpr double kMargin = 1.12;  // around the outermost values

struct Extent {
  double low = 0, high = 0;
  void take(double value) {
    if (!(value > 0)) return;
    low = low > 0 ? std::min(low, value) : value;
    high = std::max(high, value);
  }
  svg::Scale scale(double from, double to) const {
    return {(low > 0 ? low : 1) / kMargin, (high > 0 ? high : 1) * kMargin, from, to, true};
  }
};

/// Powers of ten; 1, 2 and 5 times them within two decades; round steps where even these leave fewer than three.
std::vector<double> log_ticks(double low, double high) {
  std::vector<double> ticks;
  const bool fine = high / low < 300;
  for (double decade = std::pow(10, std::floor(std::log10(low))); decade <= high; decade *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double tick = factor * decade;
      if ((fine || factor == 1) && tick >= low && tick <= high) ticks.push_back(tick);
    }
  }
  return ticks.size() < 3 ? svg::round_ticks(low, high, 6) : ticks;
}

std::string frame(const Scatter& scatter, const svg::Scale& x, const svg::Scale& y) {
  return grid_of_y(y, log_ticks(y.low, y.high), x.from, x.to, scatter.y_unit) +
         grid_of_x(x, log_ticks(x.low, x.high), y.to, y.from) +
         fmt::format(R"(<text x="{}" y="{}" class="end">{}</text><text x="{}" y="12">{}</text>)", x.to, y.from + 36,
             svg::escaped(scatter.x_title), x.from + 6, svg::escaped(scatter.y_title));
}

std::string drawn(const Line& line, const svg::Scale& x, const svg::Scale& y) {
  svg::Points at;
  for (const auto& [of_x, of_y] : line.points) at.emplace_back(x.at(of_x), y.at(of_y));
  std::string text = fmt::format(R"(<polyline class="{}" points="{}"/>)", line.css, svg::points_text(at));
  if (line.label.empty()) return text;
  return text + fmt::format(R"(<text x="{:.1f}" y="{:.1f}" class="end roof-name">{}</text>)",
                    at[line.label_at].first - 4, at[line.label_at].second - 5, svg::escaped(line.label));
}

std::string drawn(const Dot& dot, const svg::Scale& x, const svg::Scale& y) {
  const std::string label = svg::escaped(dot.label);
  const std::string circle =
      fmt::format(R"(<circle class="dot {}" cx="{:.1f}" cy="{:.1f}" r="{}"><title>{}</title></circle>)", dot.css,
          x.at(dot.x), y.at(dot.y), kRadius, label);
  return dot.row.empty() ? circle
                         : fmt::format(R"(<a href="#{}" aria-label="{}">{}</a>)", svg::escaped(dot.row), label, circle);
}

}  // namespace

std::string grid_of_y(
    const svg::Scale& y, const std::vector<double>& values, double left, double right, std::string_view unit) {
  std::string text;
  for (const double value : values)
    text +=
        fmt::format(R"(<path class="grid" d="M{0} {1:.1f}H{2}"/><text x="{3}" y="{4:.1f}" class="end">{5:g}{6}</text>)",
            left, y.at(value), right, left - 8, y.at(value) + 4, value, svg::escaped(unit));
  return text;
}

std::string grid_of_x(const svg::Scale& x, const std::vector<double>& values, double top, double bottom) {
  std::string text;
  for (const double value : values)
    text +=
        fmt::format(R"(<path class="grid" d="M{0:.1f} {1}V{2}"/><text x="{0:.1f}" y="{3}" class="mid">{4:g}</text>)",
            x.at(value), top, bottom, bottom + 16, value);
  return text;
}

std::string scatter(const Scatter& scatter) {
  Extent of_x, of_y;
  for (const Dot& dot : scatter.dots) {
    of_x.take(dot.x);
    of_y.take(dot.y);
  }
  for (const Line& line : scatter.lines) {
    for (const auto& [x, y] : line.points) {
      of_x.take(x);
      of_y.take(y);
    }
  }
  const svg::Scale x = of_x.scale(kScatterLeft, kScatterWidth - kScatterRight),
                   y = of_y.scale(kScatterHeight - kScatterBottom, kScatterTop);
  std::string text = fmt::format("<svg class=\"scatter\" viewBox=\"0 0 {} {}\" role=\"group\"><title>{}</title>\n",
      kScatterWidth, kScatterHeight, svg::escaped(scatter.title));
  text += frame(scatter, x, y);
  for (const Line& line : scatter.lines) text += drawn(line, x, y);
  for (const Dot& dot : scatter.dots) text += drawn(dot, x, y) + "\n";
  return text + "</svg>";
}

}  // namespace tilesmith::tuner::report
