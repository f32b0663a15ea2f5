// Whether a device that rested has its clocks up: pure, no device, no clock.
//
// A governor raises the clock of a busy device in steps, tens of ms apart: a Jetson's takes longer than one step, and stands on each long
// enough for readings to agree. So no few readings that agree end the warming up, but a while in which none was faster than those before.
#pragma once

#include <optional>

namespace tilesmith::tuner {

class WarmUp {
 public:
  /// The clock probe's time, read that long after the beginning. Times only grow.
  void add(double at_ms, double probe_us);
  /// For 200 ms, and at least five readings, none was faster by more than 0.5% than the fastest before; or 2 s are over.
  bool over() const;

 private:
  double last_ms_ = 0;
  std::optional<double> fastest_us_;  ///< what the latest readings are held against
  double faster_at_ms_ = 0;           ///< when that was read
  int readings_since_ = 0;
};

}  // namespace tilesmith::tuner
