// By which rule times are taken.
#pragma once

namespace tilesmith::tuner {

/// Changes whenever the meaning of a stored time changes.
inline constexpr const char* kMeasuringPolicy = "cold-4";

/// What stands before each launch of the short ones, which are timed in a CUDA graph.
enum class Before {
  another_kernel,  ///< one that is not ours, as in an application; its time is taken off
  like_launch,  ///< the launch before: rows, in which launches may overlap (programmatic dependent launch). No time for the record
};

inline constexpr double kShortLaunchUs = 50;  // below: the event's and the launch's own time would show

/// Whether launches of that length are timed inside a graph: below some 50 µs the gaps around a single launch would
/// show.
inline bool is_short(double launch_us) { return launch_us < kShortLaunchUs; }

struct TimingPolicy {
  Before before = Before::another_kernel;
  double target_relative_ci = 0.01;  ///< stop when half the 95% confidence interval of the median is within this
  double min_total_us = 2000;        ///< measure at least this long, a control's launches included ...
  double max_total_us = 60000;       ///< ... and at most this long, a candidate
  double max_settle_us =
      1000e3;  ///< of long launches without a control or in a final benchmark, before the first sample
  int min_samples = 7;
  int max_samples = 200;
  double give_up_factor = 2.0;      ///< stop early when the first samples are this much slower than `incumbent_us`
  double clock_probe_start_us = 0;  ///< what drift is relative to; 0: the clock probe's time when the stopwatch is made
};

}  // namespace tilesmith::tuner
