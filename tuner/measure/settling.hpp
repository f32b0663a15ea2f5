// Whether a device has settled under a load: pure, no device, no clock.
//
// A device that rested runs the first launches of a heavy kernel at a clock that it does not keep: a power limit takes some
// tens of ms to show, and then pulls the clock down in steps. What has no other time to be held against is therefore run
// until its time stays, and timed then.
#pragma once

#include <vector>

#include "tuner/measure/timing_policy.hpp"

namespace tilesmith::tuner {

/// Whether a competitor without a control is run until it settles: one of long launches, and no worse than the incumbent by so
/// much that it is given up. Beside an incumbent of short launches its time decides nothing.
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

}  // namespace tilesmith::tuner
