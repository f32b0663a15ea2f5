#include "tuner/warm_start/single_times.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <span>

namespace tilesmith::tuner {
namespace {

constexpr double kWithin = 0.002;          // of the winner's time: as good, as a play-off's own end has it
constexpr std::size_t kLast = 4;           // that tell of the next: luck is largest in the first ones played
constexpr double kUsualDeviation = 0.005;  // of single times, about; it counts as that of so many of the played
constexpr double kUsualCounts = 4;

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
}

}  // namespace

void SingleTimes::add(double single_us, double played_us) { log_ratios_.push_back(std::log(played_us / single_us)); }

double SingleTimes::chance_to_win(double single_us, double winner_us) const {
  if (log_ratios_.empty()) return 0;
  const std::span<const double> all(log_ratios_);
  const double middle = mean(all);
  double squares = kUsualCounts * kUsualDeviation * kUsualDeviation;
  for (const double ratio : all) squares += (ratio - middle) * (ratio - middle);
  const double deviation = std::sqrt(squares / (kUsualCounts + double(all.size()) - 1));
  const double expected = std::log(single_us) + mean(all.last(std::min(kLast, all.size())));
  const double to_win = (std::log(winner_us * (1 - kWithin)) - expected) / deviation;
  return 0.5 * std::erfc(-to_win / std::numbers::sqrt2);
}

}  // namespace tilesmith::tuner
