// The statistics of timing samples: pure, no device, no clock.
#pragma once

#include <span>
#include <vector>

#include "tuner/measure/timing_policy.hpp"

namespace tilesmith::tuner {

/// The value below which that fraction (0..1) of the samples lies, linear between neighbours. Samples must not be
/// empty.
double quantile(std::span<const double> samples, double fraction);
double median(std::span<const double> samples);
/// Half the interquartile range over the median.
double relative_spread(std::span<const double> samples);

struct Interval {
  double low = 0;
  double high = 0;
};

/// 95% confidence interval of the median from order statistics: no assumption on the distribution (H. A. David, "Order
/// Statistics", section 7.1: the number of samples below the median is binomial). With fewer than 6 samples no interval
/// of theirs reaches 95%; it is then their whole range.
Interval median_interval(std::span<const double> samples);
/// Half the interval over the median.
double relative_half_width(std::span<const double> samples);

enum class Sampling { go_on, enough, give_up };

/// Whether to take another sample. `measured_us`: device time spent on the samples so far. `incumbent_us` 0: none.
/// A candidate more than give_up_factor slower than the incumbent after three samples (twice the factor: after one) is
/// given up: most of a tuner's time would else go to candidates that cannot win.
Sampling judge_samples(
    std::span<const double> samples_us, double measured_us, const TimingPolicy& policy, double incumbent_us);

/// The time of one launch behind another kernel: what a graph of so many pairs of them takes longer than one of as many
/// of the other kernel. At least least_difference_us(), also where it is not a number: samples stay above 0, and of a
/// kernel that takes longer than that the median does not move.
double difference_us(double pairs_us, double others_us, int launches);
/// What a difference over so many launches can be off by: two pairs of events, each of which counts in half
/// microseconds.
double least_difference_us(int launches);
/// Whether a median of differences over at least so many launches tells a time: it is above twice what each can be off
/// by. A launch in a graph takes a microsecond or so, however little it does, so what is not told is another program's
/// doing. NaN is not told.
bool is_told(double median_us, int launches);

/// Whether the fastest of several competitors is settled: no other is faster than it by more than 0.2%, as far as the
/// intervals of the medians tell. So kernels that take the same time are not told apart at length. With fewer than two
/// competitors there is nothing to settle: true.
bool winner_is_settled(std::span<const std::vector<double>> samples_us);

}  // namespace tilesmith::tuner
