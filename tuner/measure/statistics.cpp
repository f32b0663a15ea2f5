#include "tuner/measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tilesmith::tuner {
namespace {

constexpr double kTail = 0.025;  // either side of 95%
constexpr std::size_t kFewestSamples = 3;
constexpr double kIndifferent = 0.002;    // what no one would choose by
constexpr double kTwoEventPairsUs = 1.0;  // off by that together, at most
constexpr double kTold = 2.0;             // times that; drift which is taken out of a sample scales it by less

std::vector<double> sorted(std::span<const double> samples) {
  if (samples.empty()) throw std::invalid_argument("statistics of no samples");
  std::vector<double> result(samples.begin(), samples.end());
  std::sort(result.begin(), result.end());
  return result;
}

double quantile_of_sorted(const std::vector<double>& values, double fraction) {
  const double position = fraction * double(values.size() - 1);
  const std::size_t below = std::size_t(position);
  if (below + 1 >= values.size()) return values.back();
  return values[below] + (position - double(below)) * (values[below + 1] - values[below]);
}

/// The largest r for which P(Binomial(n, 1/2) ≤ r - 1) stays within the tail; 0 if there is none.
std::size_t interval_rank(std::size_t n) {
  double log_term = -double(n) * std::log(2.0);  // log P(X = 0)
  double cumulative = 0;
  std::size_t rank = 0;
  for (std::size_t i = 0; i < n; ++i) {
    cumulative += std::exp(log_term);
    if (cumulative > kTail) break;
    rank = i + 1;
    log_term += std::log(double(n - i)) - std::log(double(i + 1));
  }
  return rank;
}

}  // namespace

double quantile(std::span<const double> samples, double fraction) {
  return quantile_of_sorted(sorted(samples), fraction);
}

double median(std::span<const double> samples) { return quantile(samples, 0.5); }

double relative_spread(std::span<const double> samples) {
  const std::vector<double> values = sorted(samples);
  const double range = quantile_of_sorted(values, 0.75) - quantile_of_sorted(values, 0.25);
  return 0.5 * range / quantile_of_sorted(values, 0.5);
}

Interval median_interval(std::span<const double> samples) {
  const std::vector<double> values = sorted(samples);
  const std::size_t rank = std::max<std::size_t>(interval_rank(values.size()), 1);
  return {values[rank - 1], values[values.size() - rank]};
}

double relative_half_width(std::span<const double> samples) {
  const Interval interval = median_interval(samples);
  return 0.5 * (interval.high - interval.low) / median(samples);
}

Sampling judge_samples(
    std::span<const double> samples_us, double measured_us, const TimingPolicy& policy, double incumbent_us) {
  if (samples_us.empty()) return Sampling::go_on;
  const double fastest = *std::min_element(samples_us.begin(), samples_us.end());
  if (incumbent_us > 0) {
    const double limit_us = policy.give_up_factor * incumbent_us;
    if (fastest > 2 * limit_us) return Sampling::give_up;
    if (samples_us.size() >= kFewestSamples && fastest > limit_us) return Sampling::give_up;
  }
  if (samples_us.size() >= std::size_t(policy.max_samples)) return Sampling::enough;
  if (measured_us >= policy.max_total_us && samples_us.size() >= kFewestSamples) return Sampling::enough;
  if (measured_us >= 10 * policy.max_total_us) return Sampling::enough;  // kernels of seconds: what there is must do
  if (samples_us.size() < std::size_t(policy.min_samples) || measured_us < policy.min_total_us) return Sampling::go_on;
  return relative_half_width(samples_us) <= policy.target_relative_ci ? Sampling::enough : Sampling::go_on;
}

double least_difference_us(int launches) { return kTwoEventPairsUs / launches; }

double difference_us(double pairs_us, double others_us, int launches) {
  const double us = (pairs_us - others_us) / launches;
  const double least_us = least_difference_us(launches);
  return us > least_us && std::isfinite(us) ? us : least_us;
}

bool is_told(double median_us, int launches) {
  return std::isfinite(median_us) && median_us > kTold * least_difference_us(launches);
}

bool winner_is_settled(std::span<const std::vector<double>> samples_us) {
  if (samples_us.size() < 2) return true;
  std::size_t winner = 0;
  std::vector<Interval> intervals;
  std::vector<double> medians;
  for (const std::vector<double>& samples : samples_us) {
    intervals.push_back(median_interval(samples));
    medians.push_back(median(samples));
    if (medians.back() < medians[winner]) winner = medians.size() - 1;
  }
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    if (i != winner && !(intervals[winner].high < intervals[i].low * (1 + kIndifferent))) return false;
  }
  return true;
}

}  // namespace tilesmith::tuner
