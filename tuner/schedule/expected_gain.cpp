#include "tuner/schedule/expected_gain.hpp"

#include <algorithm>
#include <cmath>

namespace tilesmith::tuner {

Trend trend_of(std::span<const double> curve_us, double best_us, double spread, double floor_us) {
  const std::size_t n = curve_us.size();
  Trend trend{double(n), best_us, 0, floor_us};
  if (trend.too_few() || !(best_us > 0)) return trend;
  const double half = curve_us[n / 2 - 1];
  // Where none of the first half passed, the first time that did is what it began from.
  const double from =
      half > 0 ? half : *std::find_if(curve_us.begin(), curve_us.end(), [](double us) { return us > 0; });
  if (const double g = std::log(from / best_us); g > spread) trend.last_doubling = g;
  return trend;
}

double expected_us(const Trend& trend, double more) {
  return std::max(trend.floor_us, trend.best_us * std::exp(-trend.last_doubling * more / (trend.evaluations + more)));
}

}  // namespace tilesmith::tuner
