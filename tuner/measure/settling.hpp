// Whether a device that rested has its clocks up, whether it has settled under a load, and what makes a measurement no
// record: pure, no device, no clock.
//
// A device that rested runs the first launches of a heavy kernel at a clock that it does not keep: a power limit takes
// some tens of ms to show, and then pulls the clock down in steps. What has no other time to be held against is
// therefore run until its time stays, and timed then.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/driver/device.hpp"
#include "tuner/measure/timing_policy.hpp"

namespace tilesmith::tuner {

/// Whether a competitor without a control is run until it settles: one of long launches, and no worse than the
/// incumbent by so much that it is given up. Beside an incumbent of short launches its time decides nothing.
bool is_settled_first(double launch_us, double incumbent_us, const TimingPolicy& policy);

class Settling {
 public:
  /// `most_us` of load are the end of it, settled or not.
  explicit Settling(double most_us) : most_us_(most_us) {}

  /// The time of the next launch (or turn of several) of the same load.
  void add(double us);
  /// Three windows of 50 ms, or of one launch that is longer, differ by no more than 2% in their medians; or the end.
  bool over() const;

 private:
  double most_us_;
  double spent_us_ = 0;
  double window_us_ = 0;
  std::vector<double> window_;      ///< launches of the one that is not full
  std::vector<double> medians_us_;  ///< of those that are
};

/// A governor raises the clock of a busy device in steps, tens of ms apart: a Jetson's takes longer than one step, and
/// stands on each long enough for readings to agree. So no few readings that agree end the warming up, but a while in
/// which none was faster than those before.
class WarmUp {
 public:
  /// The clock probe's time, read that long after the beginning. Times only grow.
  void add(double at_ms, double probe_us);
  /// For 200 ms, and at least five readings, none was faster by more than 0.5% than the fastest before; or 2 s are
  /// over.
  bool over() const;

 private:
  double last_ms_ = 0;
  std::optional<double> fastest_us_;  ///< what the latest readings are held against
  double faster_at_ms_ = 0;           ///< when that was read
  int readings_since_ = 0;
};

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
