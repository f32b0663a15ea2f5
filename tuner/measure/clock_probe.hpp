// The clock probe: a fixed reference kernel timed in between, so that drift of the device's speed is seen.
//
// What it sees: the SM clock, whatever moved it (heat, power mode, governor), and another program on the device. What it
// does not see: the memory clock; and, once the clock has settled, how far a heavy kernel pulled it down under a power limit
// while it ran (the clock probe is kept light on purpose: about 0.4 ms a candidate, nearly no power). Kernels that heavy are
// timed beside each other instead. A time bound by memory bandwidth does not follow the SM clock, so dividing by a drift of
// a few percent can be off by as much.
#pragma once

#include "runtime/driver/device.hpp"
#include "tuner/measure/pacing.hpp"
#include "tuner/measure/clock_probe_base.hpp"

namespace tilesmith::tuner {

class ClockProbe {
 public:
  /// Lets the clocks come up (WarmUp: 0.2 to 2 s of reference work), then takes the starting time; `start_us` > 0 takes that
  /// instead: the start of the tuning run, when this process is a replacement.
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
