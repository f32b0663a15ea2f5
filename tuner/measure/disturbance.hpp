// What makes a measurement no record: pure, no device, no clock.
#pragma once

#include <string>

#include "runtime/driver/device.hpp"

namespace tilesmith::tuner {

/// Of the clock probe, either way; beyond it is another program or a changed mode.
inline constexpr double kMostClockProbeDrift = 0.10;

/// What tells how far the device's speed drifted while a time was taken.
enum class DriftBy {
  clock_probe,  ///< of short launches: its readings before and after
  control,      ///< of long ones timed beside it
  nothing,  ///< of long ones without a control: drift is not divided out, and the clock probe's reading before tells of it
};

/// What disturbed the measurement, empty if it counts: heat or a brake that slows the clocks, or a drift larger than
/// the heat, and beside a control the power limit, of a device at work.
std::string disturbance(const runtime::Telemetry& telemetry, DriftBy by, double drift);

}  // namespace tilesmith::tuner
