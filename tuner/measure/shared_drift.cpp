#include "tuner/measure/shared_drift.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "tuner/measure/statistics.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::array<std::size_t, 4> kReaches{1, 2, 4, 8};  // turns on either side
constexpr int kPasses = 4;           // medians and drift in turn: three give what twelve do (docs/notes/measuring.md)
constexpr double kMostDrift = 1.6;   // of a clock under a power limit, either way; more is another load, not drift
constexpr double kOutlier = 4.4478;  // times the median absolute deviation: three standard deviations, if normal

std::vector<std::vector<double>> by_competitor(
    std::span<const FinalBenchmarkSample> turns, std::span<const double> drift, std::size_t competitors) {
  std::vector<std::vector<double>> samples_us(competitors);
  for (std::size_t t = 0; t < turns.size(); ++t) {
    samples_us[turns[t].competitor].push_back(turns[t].us / (1 + drift[t]));
  }
  return samples_us;
}

/// Of each turn, relative to its competitor's median; what lies far out counts as far as the limit only.
std::vector<double> deviations(
    std::span<const FinalBenchmarkSample> turns, std::span<const std::vector<double>> samples_us) {
  std::vector<double> medians_us;
  for (const std::vector<double>& samples : samples_us) medians_us.push_back(samples.empty() ? 0 : median(samples));
  std::vector<double> result, sizes;
  for (const FinalBenchmarkSample& turn : turns) {
    result.push_back(turn.us / medians_us[turn.competitor] - 1);
    sizes.push_back(std::abs(result.back()));
  }
  const double limit = kOutlier * median(sizes);
  for (double& deviation : result) deviation = std::clamp(deviation, -limit, limit);
  return result;
}

/// The mean of the values up to `reach` before and after each, without its own; relative to the median of these.
std::vector<double> neighbours(std::span<const double> values, std::size_t reach) {
  std::vector<double> sums{0};  // of the first ones
  for (const double value : values) sums.push_back(sums.back() + value);
  std::vector<double> result;
  for (std::size_t t = 0; t < values.size(); ++t) {
    const std::size_t begin = t < reach ? 0 : t - reach;
    const std::size_t end = std::min(t + reach + 1, values.size());
    result.push_back((sums[end] - sums[begin] - values[t]) / double(end - begin - 1));
  }
  const double middle = median(result);
  for (double& value : result) value -= middle;
  return result;
}

/// How much of each deviation its neighbours tell of, by the reach that leaves least; zeros where none leaves less than
/// there is.
std::vector<double> predicted(std::span<const double> deviations) {
  std::vector<double> best(deviations.size(), 0.0);
  double least_left = 0;
  for (const double deviation : deviations) least_left += std::abs(deviation);
  for (const std::size_t reach : kReaches) {
    std::vector<double> prediction = neighbours(deviations, reach);
    double products = 0, squares = 0;
    for (std::size_t t = 0; t < deviations.size(); ++t) {
      products += deviations[t] * prediction[t];
      squares += prediction[t] * prediction[t];
    }
    const double share = squares > 0 ? std::clamp(products / squares, 0.0, 1.0) : 0;
    double left = 0;
    for (std::size_t t = 0; t < deviations.size(); ++t) {
      prediction[t] *= share;
      left += std::abs(deviations[t] - prediction[t]);
    }
    if (left < least_left) {
      least_left = left;
      best = std::move(prediction);
    }
  }
  return best;
}

bool is_drift(std::span<const double> drift) {
  return std::ranges::all_of(drift, [](double d) { return 1 + d <= kMostDrift && (1 + d) * kMostDrift >= 1; });
}

}  // namespace

std::vector<std::vector<double>> without_shared_drift(
    std::span<const FinalBenchmarkSample> turns, std::size_t competitors) {
  std::vector<double> drift(turns.size(), 0.0);
  std::vector<std::vector<double>> samples_us = by_competitor(turns, drift, competitors);
  const bool has_times = std::ranges::all_of(turns, [](const FinalBenchmarkSample& turn) { return turn.us > 0; });
  if (competitors < 2 || turns.size() < 2 || !has_times) return samples_us;
  const std::vector<std::vector<double>> as_they_came = samples_us;
  for (int pass = 0; pass < kPasses; ++pass) {
    drift = predicted(deviations(turns, samples_us));
    if (!is_drift(drift)) return as_they_came;
    samples_us = by_competitor(turns, drift, competitors);
  }
  return samples_us;
}

}  // namespace tilesmith::tuner
