#include "tuner/report/chart_parts.hpp"

#include <fmt/format.h>

namespace tilesmith::tuner::report {

std::string value_grid(const svg::Scale& y, double left, double right, int count) {
  std::string text;
  for (const double value : svg::round_ticks(y.low, y.high, count)) {
    text +=
        fmt::format(R"(<path class="grid" d="M{0} {1:.1f}H{2}"/><text x="{3}" y="{4:.1f}" class="end">{5:g}</text>)",
                    left, y.at(value), right, left - 8, y.at(value) + 4, value);
  }
  return text;
}

}  // namespace tilesmith::tuner::report
