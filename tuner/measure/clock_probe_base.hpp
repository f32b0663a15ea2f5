// The clock probe's time that drift is relative to: pure, no device, no clock.
#pragma once

#include <cstddef>
#include <vector>

namespace tilesmith::tuner {

/// It is read once, so that all times of a run are on one scale. Read while the device was not itself (its clocks not up yet, another
/// program on it), it would make every time of the run after that a disturbed one. So a device that is faster for good than it was
/// then has its time of now for the base. One that is slower for good has changed its mode or is hot, and is held against what it was.
class ClockProbeBase {
 public:
  explicit ClockProbeBase(double us) : us_(us) {}

  double us() const { return us_; }
  /// Of a reading, which is noted.
  double drift_of(double reading_us);
  /// Takes the median of the latest readings for the base if they were all faster than it by more than drift may be, and
  /// alike. Whether it did.
  bool renew();

 private:
  double us_;
  std::vector<double> faster_us_;  ///< the latest readings, as long as they are that much faster
};

}  // namespace tilesmith::tuner
