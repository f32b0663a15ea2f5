// The charts of the page, as inline SVG. Colours are classes of page.css, so that they follow the page's scheme.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/report/report.hpp"
#include "tuner/svg.hpp"

namespace tilesmith::tuner::report {

/// Lines from `left` to `right`, px, at these values, which stand left of them with their unit; and lines from `top` to
/// `bottom`, below which the values stand.
std::string grid_of_y(
    const svg::Scale& y, const std::vector<double>& values, double left, double right, std::string_view unit = "");
std::string grid_of_x(const svg::Scale& x, const std::vector<double>& values, double top, double bottom);

/// The top of the small charts' common scale, best so far over best now: above all but a few of the problems.
double common_top(const std::vector<ProblemFigures>& problems);

/// Best so far over best now, logarithmic both ways, on the scale 1..top.
std::string small_convergence(const ProblemFigures& problem, double top);
/// Microseconds over evaluations, with each evaluation's time, failures, what was known before, and the last doubling.
std::string large_convergence(const ProblemFigures& problem);

/// Readings over the stretches of work, the pauses between them cut out.
std::string time_series(const Series& series, const std::vector<Stretch>& stretches);

// Charts of one dot a problem, logarithmic both ways. Each dot leads to its row.
struct Dot {
  double x = 0, y = 0;
  std::string css;    ///< class of page.css
  std::string label;  ///< unescaped: what a pointer over it shows, and what those who hear the page are told
  std::string row;    ///< id of the row that it leads to; empty: none
};

struct Line {
  svg::Points points;  ///< in values
  std::string css;
  std::string label;     ///< unescaped. Empty: none
  std::size_t label_at;  ///< the point that it ends above
};

struct Scatter {
  std::string title, x_title, y_title;  ///< unescaped
  std::string y_unit;                   ///< behind the numbers
  std::vector<Line> lines;
  std::vector<Dot> dots;  ///< later ones lie above
};

/// An SVG with room for all dots and the lines' ends. Values are above 0.
std::string scatter(const Scatter& scatter);

}  // namespace tilesmith::tuner::report
