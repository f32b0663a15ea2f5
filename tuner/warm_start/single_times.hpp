// How a problem's single times lie to the times of a play-off: pure.
#pragma once

#include <vector>

namespace tilesmith::tuner {

/// What a play-off tells of candidates that are not in it. All of one night: the times of a play-off may be longer than single ones, as
/// on a device under a lasting load, or where they are told on the scale of another night, and those it takes first are those whose
/// single times were lucky.
class SingleTimes {
 public:
  /// One that had the single time before it was played off, in the order in which they are played.
  void add(double single_us, double played_us);
  void forget() { log_ratios_.clear(); }
  /// The chance that one of this single time would be faster than the winner by more than 0.2%, by what became of the last ones that were
  /// played, who were the nearest to it. 0 if none was.
  double chance_to_win(double single_us, double winner_us) const;

 private:
  std::vector<double> log_ratios_;  // of played and single time
};

}  // namespace tilesmith::tuner
