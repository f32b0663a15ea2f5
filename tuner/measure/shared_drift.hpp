// What the device's speed does to all competitors of a final benchmark alike, found in their own turns: pure, no
// device, no clock.
//
// Under a power limit the clock wanders by some percent within a second. What is a launch's own cannot be told from
// that by its time alone, but by its neighbours': if the turns around it took longer than their competitors take on the
// median, so did it. Each turn is therefore held against its neighbours, as plots of a field trial are (J. S.
// Papadakis' method; M. S. Bartlett, "Nearest neighbour models in the analysis of field experiments", 1978), here with
// medians.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tilesmith::tuner {

/// One sample of a final benchmark.
struct FinalBenchmarkSample {
  std::size_t competitor = 0;
  double us = 0;
};

/// The samples of each competitor, in order, divided by the drift that the turns around them tell of. Drift is taken
/// from the mean of up to 1, 2, 4 or 8 turns on either side, whichever tells most of a turn by its neighbours, and only
/// as far as it does: where times are noise of their own, samples hardly change. Drift is relative to its own median,
/// so that times keep their level, if not exactly: of a clock that jumps between two levels it moves by some percent.
/// Samples stay as they are where competitors are fewer than two, a time is not above 0, or what is found is larger
/// than a clock's drift (another load on the device). `turns` as they came, each of a competitor below `competitors`.
std::vector<std::vector<double>> without_shared_drift(
    std::span<const FinalBenchmarkSample> turns, std::size_t competitors);

}  // namespace tilesmith::tuner
