#include "tuner/report/report.hpp"

#include <algorithm>

namespace tilesmith::tuner::report {
namespace {

constexpr double kMinute = 60;

Trend trend_of(const OutlookProblem& problem) {
  return tuner::trend_of(problem.curve_us, problem.best_us, problem.spread, problem.floor_us);
}

ProblemOutlook first_look(const OutlookProblem& problem) {
  const Trend trend = trend_of(problem);
  ProblemOutlook look;
  if (trend.too_few()) {
    look.prospect = Prospect::too_few;
  } else if (!(problem.best_us > 0)) {
    look.prospect = Prospect::no_time;
  } else if (!trend.settled() && problem.seconds_per_evaluation > 0) {
    look.prospect = Prospect::gains;
    look.last_doubling = trend.last_doubling;
  }
  return look;
}

/// Brings problems up to kLeastEvaluations; returns the minutes that are left.
double deal_to_the_untried(const std::vector<OutlookProblem>& problems, Outlook& result) {
  double left = kMinutes;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    ProblemOutlook& look = result.problems[i];
    if (look.prospect != Prospect::too_few) continue;
    const auto wanted = double(kLeastEvaluations - problems[i].curve_us.size());
    const double minutes = wanted * problems[i].seconds_per_evaluation / kMinute;
    look.minutes = std::min(left, minutes);
    look.evaluations = minutes > 0 ? wanted * look.minutes / minutes : wanted;
    left -= look.minutes;
  }
  return left;
}

}  // namespace

Outlook outlook(const std::vector<OutlookProblem>& problems) {
  Outlook result;
  for (const OutlookProblem& problem : problems) result.problems.push_back(first_look(problem));
  double left = deal_to_the_untried(problems, result);
  const auto saved_by_next_minute = [&](std::size_t i) {
    const OutlookProblem& problem = problems[i];
    const ProblemOutlook& look = result.problems[i];
    if (look.prospect != Prospect::gains) return 0.0;
    const double a_minute = kMinute / problem.seconds_per_evaluation;
    const Trend trend = trend_of(problem);
    return problem.weight * (expected_us(trend, look.evaluations) - expected_us(trend, look.evaluations + a_minute));
  };
  while (left >= 1 - 1e-9) {
    std::size_t most = 0;
    double most_saved = 0;
    for (std::size_t i = 0; i < problems.size(); ++i) {
      if (const double saved = saved_by_next_minute(i); saved > most_saved) most = i, most_saved = saved;
    }
    if (most_saved == 0) break;
    left -= 1;
    result.problems[most].minutes += 1;
    result.problems[most].evaluations += kMinute / problems[most].seconds_per_evaluation;
  }
  result.minutes_unused = std::max(0.0, left);
  for (std::size_t i = 0; i < problems.size(); ++i) {
    ProblemOutlook& look = result.problems[i];
    if (look.prospect == Prospect::gains && look.minutes > 0) {
      look.expected_us = expected_us(trend_of(problems[i]), look.evaluations);
      look.saved_us = problems[i].weight * (problems[i].best_us - look.expected_us);
    }
    if (look.minutes > 0 || look.prospect == Prospect::too_few) result.ranking.push_back(i);
  }
  std::stable_sort(result.ranking.begin(), result.ranking.end(), [&](std::size_t a, std::size_t b) {
    const ProblemOutlook &x = result.problems[a], &y = result.problems[b];
    if ((x.prospect == Prospect::too_few) != (y.prospect == Prospect::too_few)) return x.prospect == Prospect::too_few;
    return x.saved_us > y.saved_us;
  });
  return result;
}

}  // namespace tilesmith::tuner::report
