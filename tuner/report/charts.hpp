// The charts of the page, as inline SVG. Colours are classes of page.css, so that they follow the page's scheme.
#pragma once

#include <string>
#include <vector>

#include "tuner/report/report.hpp"

namespace tilesmith::tuner::report {

/// The top of the small charts' common scale, best so far over best now: above all but a few of the problems.
double common_top(const std::vector<ProblemFigures>& problems);

/// Best so far over best now, logarithmic both ways, on the scale 1..top.
std::string small_convergence(const ProblemFigures& problem, double top);
/// Microseconds over evaluations, with each evaluation's time, failures, what was known before, and the last doubling.
std::string large_convergence(const ProblemFigures& problem);

/// Readings over the stretches of work, the pauses between them cut out.
std::string time_series(const Series& series, const std::vector<Stretch>& stretches);

}  // namespace tilesmith::tuner::report
