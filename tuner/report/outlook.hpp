// What another hour would go to: dealt out in minutes, each to the problem where it is expected to save the most,
// weight × time (expected_gain.hpp). Problems with fewer than kLeastEvaluations say nothing yet: they come first, up to
// so many each.
#pragma once

#include <cstddef>
#include <vector>

#include "tuner/schedule/expected_gain.hpp"

namespace tilesmith::tuner::report {

inline constexpr int kMinutes = 60;

/// What is known of one problem.
struct OutlookProblem {
  double weight = 1;
  double best_us = 0;                 ///< 0: none
  double spread = 0;                  ///< of the best's time
  double floor_us = 0;                ///< as floor_us() finds; 0: unknown
  double seconds_per_evaluation = 0;  ///< 0: unknown
  std::vector<double> curve_us;       ///< best after each evaluation, 0 while there is none
};

enum class Prospect {
  gains,    ///< its last doubling brought something
  settled,  ///< it brought nothing beyond the spread
  too_few,  ///< fewer than kLeastEvaluations
  no_time,  ///< no candidate passed, of enough evaluations
};

struct ProblemOutlook {
  Prospect prospect = Prospect::settled;
  double last_doubling = 0;  ///< g; 0 unless `gains`
  double minutes = 0;        ///< of the hour
  double evaluations = 0;    ///< in these minutes
  double expected_us = 0;    ///< after them; 0 unless `gains`
  double saved_us = 0;       ///< weight × (best − expected)
};

struct Outlook {
  std::vector<ProblemOutlook> problems;  ///< as given
  std::vector<std::size_t> ranking;      ///< those that get time: too_few first, then by what is saved
  double minutes_unused = 0;             ///< nothing is expected of them
};

Outlook outlook(const std::vector<OutlookProblem>& problems);

}  // namespace tilesmith::tuner::report
