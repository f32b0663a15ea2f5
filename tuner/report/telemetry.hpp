// The device over the night: clock, temperature, power and drift, as the entries with a time carry them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "db/store/record.hpp"

namespace tilesmith::tuner::report {

/// The stopwatch repeats a measurement whose clock_probe drifts further than this, and takes it as it is where repeats
/// do not help: an entry with such a drift was disturbed. Of long launches drift tells a control's time, which has no
/// such limit.
inline constexpr double kDisturbedDrift = 0.10;
/// A clock below this share of the run's highest is marked.
inline constexpr double kLowClock = 0.95;

struct Reading {
  double time = 0;  ///< seconds since 1970
  double value = 0;
  bool marked = false;
};

struct Series {
  std::string name, unit;
  std::string mark;  ///< what a marked reading is; empty: nothing is marked here
  std::vector<Reading> readings;
  std::size_t marked = 0;

  double lowest() const;
  double highest() const;
  double median() const;
};

struct Telemetry {
  db::DeviceIdentity device;
  std::size_t timed = 0;       ///< entries with a time
  std::vector<Series> series;  ///< SM clock, temperature, power, drift: those of which the entries know anything
};

/// `entries`: oldest first, all of this device.
Telemetry telemetry_of(const db::DeviceIdentity& device, const std::vector<const db::Record*>& entries);

}  // namespace tilesmith::tuner::report
