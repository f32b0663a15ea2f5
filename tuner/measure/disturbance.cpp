#include "tuner/measure/disturbance.hpp"

#include <fmt/format.h>

namespace tilesmith::tuner {
namespace {

// A contender that draws more than the anchor pulls the clock down for both, on an H200 from 1980 to 1300 MHz at most; and the
// anchor may have been timed so and run with one that draws less. Beyond that it is another program or a changed mode.
constexpr double kMostTimesOfAnchor = 1.6;

}  // namespace

std::string disturbance(const runtime::Telemetry& telemetry, DriftBy by, double drift) {
  if (telemetry.throttled) return "throttled: " + telemetry.throttle_reason;
  if (by == DriftBy::anchor) {
    if (drift >= 1 / kMostTimesOfAnchor && drift <= kMostTimesOfAnchor) return {};
    return fmt::format("the anchor drifted to {:.2f}", drift);
  }
  if (drift >= 1 - kMostSentinelDrift && drift <= 1 + kMostSentinelDrift) return {};
  return fmt::format("the sentinel drifted to {:.2f}", drift);
}

}  // namespace tilesmith::tuner
