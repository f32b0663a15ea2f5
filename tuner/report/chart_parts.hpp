// What the page's charts have in common.
#pragma once

#include <string>

#include "tuner/svg.hpp"

namespace tilesmith::tuner::report {

/// About `count` lines from `left` to `right`, px, at round values, which stand left of them.
std::string value_grid(const svg::Scale& y, double left, double right, int count);

}  // namespace tilesmith::tuner::report
