// The clock probe: a fixed reference kernel timed in between, so that drift of the device's speed is seen.
//
// What it sees: the SM clock, whatever moved it (heat, power mode, governor), and another program on the device. What
// it does not see: the memory clock; and, once the clock has settled, how far a heavy kernel pulled it down under a
// power limit while it ran (the clock probe is kept light on purpose: about 0.4 ms a candidate, nearly no power).
// Kernels that heavy are timed beside each other instead. A time bound by memory bandwidth does not follow the SM
// clock, so dividing by a drift of a few percent can be off by as much.
#pragma once

#include <vector>

#include "runtime/driver/device.hpp"
#include "tuner/measure/pacing.hpp"

namespace tilesmith::tuner {

/// The clock probe's time that drift is relative to: pure, no device, no clock.
/// It is read once, so that all times of a run are on one scale. Read while the device was not itself (its clocks not
/// up yet, another program on it), it would make every time of the run after that a disturbed one. So a device that is
/// faster for good than it was then has its time of now for the base. One that is slower for good has changed its mode
/// or is hot, and is held against what it was.
class ClockProbeBase {
 public:
  explicit ClockProbeBase(double us) : us_(us) {}

  double us() const { return us_; }
  /// Of a reading, which is noted.
  double drift_of(double reading_us);
  /// Takes the median of the latest readings for the base if they were all faster than it by more than drift may be,
  /// and alike. Whether it did.
  bool renew();

 private:
  double us_;
  std::vector<double> faster_us_;  ///< the latest readings, as long as they are that much faster
};

class ClockProbe {
 public:
  /// Lets the clocks come up (WarmUp: 0.2 to 2 s of reference work), then takes the starting time; `start_us` > 0 takes
  /// that instead: the start of the tuning run, when this process is a replacement.
  ClockProbe(Pacing& pacing, const runtime::Stream& stream, double start_us);

  /// The starting time, or what became the base since (ClockProbeBase).
  double base_us() const { return base_.us(); }
  /// Time of the reference work now over the base.
  double drift() { return base_.drift_of(time_us()); }
  /// Before a measurement: in it there is one base.
  void renew_base();
  /// Keeps the device busy with reference work for about that long: wakes clocks that fell while it was idle.
  void warm_up(double milliseconds);

 private:
  double time_us();

  Pacing& pacing_;
  const runtime::Stream& stream_;
  runtime::Event before_, after_;
  ClockProbeBase base_;
};

}  // namespace tilesmith::tuner
