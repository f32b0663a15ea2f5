#include "tuner/measure/disturbance.hpp"

#include <fmt/format.h>

namespace tilesmith::tuner {

// A competitor that draws more than the control pulls the clock down for both, on an H200 from 1980 to 1300 MHz at
// most; and the control may have been timed so and run with one that draws less. Beyond that it is another program or a
// changed mode.
constexpr double kMostTimesOfControl = 1.6;

std::string disturbance(const runtime::Telemetry& telemetry, DriftBy by, double drift) {
  if (telemetry.throttled) return "throttled: " + telemetry.throttle_reason;
  if (by == DriftBy::control) {
    if (drift >= 1 / kMostTimesOfControl && drift <= kMostTimesOfControl) return {};
    return fmt::format("the control drifted to {:.2f}", drift);
  }
  if (drift >= 1 - kMostClockProbeDrift && drift <= 1 + kMostClockProbeDrift) return {};
  return fmt::format("the clock probe drifted to {:.2f}", drift);
}

}  // namespace tilesmith::tuner
