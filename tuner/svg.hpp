// What every chart is drawn with: scales, ticks, lines, and text that is safe in XML and HTML.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilesmith::tuner::svg {

/// For text and for attributes in double quotes: & < > " ' are escaped; control characters and bytes that are no UTF-8
/// become U+FFFD.
std::string escaped(std::string_view text);

/// Values low..high lie at pixels from..to; outside they go on. A logarithmic scale needs 0 < low.
struct Scale {
  double low = 0, high = 1;
  double from = 0, to = 1;
  bool logarithmic = false;

  double at(double value) const;
};

/// 1, 2, 5, 10, ... up to `last`, and `last` itself if there is room for it.
std::vector<double> decade_ticks(double last);
/// About `count` round values (1, 2, 2.5 or 5 times a power of ten apart) within low..high.
std::vector<double> round_ticks(double low, double high, int count);

using Points = std::vector<std::pair<double, double>>;
/// "x,y x,y " for polyline and polygon, to a tenth of a pixel.
std::string points_text(const Points& points);

}  // namespace tilesmith::tuner::svg
