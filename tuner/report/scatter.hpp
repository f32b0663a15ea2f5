// Charts of one dot a problem, logarithmic both ways. Each dot leads to its row.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tuner/svg.hpp"

namespace tilesmith::tuner::report {

struct Dot {
  double x = 0, y = 0;
  std::string css;    ///< class of page.css
  std::string label;  ///< unescaped: what a pointer over it shows, and what those who hear the page are told
  std::string row;    ///< id of the row that it leads to; empty: none
};

struct Line {
  svg::Points points;  ///< in values
  std::string css;
  std::string label;  ///< unescaped. Empty: none
  std::size_t label_at;  ///< the point that it ends above
};

struct Scatter {
  std::string title, x_title, y_title;  ///< unescaped
  std::string y_unit;                   ///< behind the numbers
  std::vector<Line> lines;
  std::vector<Dot> dots;                ///< later ones lie above
};

/// An SVG with room for all dots and the lines' ends. Values are above 0.
std::string scatter(const Scatter& scatter);

}  // namespace tilesmith::tuner::report
