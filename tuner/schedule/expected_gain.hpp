// What more evaluations of a task are expected to bring, judged by how its best fell so far.
//
// Each doubling of a task's evaluations is expected to bring half of what the one before brought: so do the
// strategies on recordings (docs/notes/search.md; docs/search_strategies.md: the means after 25 to 400 evaluations).
// With g = ln(best after n/2 evaluations / best after n), m more evaluations make a time t into t·exp(−g·m/(n + m)),
// though never less than floor_us() (tuner/peaks.hpp). A g within the spread of the best's time is noise, and counts as
// none.
#pragma once

#include <cstddef>
#include <span>

namespace tilesmith::tuner {

/// Fewer evaluations of a task say nothing yet.
inline constexpr std::size_t kLeastEvaluations = 8;

/// How the search of one task goes. Trivially copyable: tuners leave it to each other in shared memory.
struct Trend {
  double evaluations = 0;
  double best_us = 0;        ///< 0: none
  double last_doubling = 0;  ///< g; 0 where it is noise, or nothing was ok
  double floor_us = 0;       ///< as floor_us() finds; 0: unknown

  bool too_few() const { return evaluations < double(kLeastEvaluations); }
  bool settled() const { return !too_few() && last_doubling <= 0; }
};

/// `curve_us`: best after each evaluation, 0 while there is none. `spread`: of the best's time.
Trend trend_of(std::span<const double> curve_us, double best_us, double spread, double floor_us);

/// The best after so many more evaluations.
double expected_us(const Trend& trend, double more);

}  // namespace tilesmith::tuner
