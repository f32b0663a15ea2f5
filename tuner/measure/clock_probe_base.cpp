#include "tuner/measure/clock_probe_base.hpp"

#include <algorithm>

#include "tuner/measure/disturbance.hpp"
#include "tuner/measure/statistics.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kReadingsKept = 8;  // of three or four measurements: longer than what comes between the slices of another program
constexpr double kSteady = 1.03;

}  // namespace

double ClockProbeBase::drift_of(double reading_us) {
  const double drift = reading_us / us_;
  if (drift < 1 - kMostClockProbeDrift) faster_us_.push_back(reading_us);
  else faster_us_.clear();
  if (faster_us_.size() > kReadingsKept) faster_us_.erase(faster_us_.begin());
  return drift;
}

bool ClockProbeBase::renew() {
  if (faster_us_.size() < kReadingsKept) return false;
  const auto [least, most] = std::ranges::minmax(faster_us_);
  if (!(most <= kSteady * least)) return false;
  us_ = median(faster_us_);
  faster_us_.clear();
  return true;
}

}  // namespace tilesmith::tuner
