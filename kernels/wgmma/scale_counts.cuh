// How many scales of blocks (kernels/shared/multiply/block_scales.cuh) a thread holds. The host reads this file too.
#pragma once

#include "kernels/shared/host_device.cuh"

namespace tilesmith {

// Columns of a tile that always lie in one block of 128, since tiles begin at multiples of their extent.
TILESMITH_HOST_DEVICE constexpr int columns_of_scale(int extent) {
  const int step = extent & -extent;
  return step < 128 ? step : 128;
}

// Scales of so many gated columns: of x, and of the two blocks in which y may lie.
constexpr int kPairScales = 3;

// Steps whose scales are loaded or on their way, where a thread has so many of a step, and so many sums: what the sums,
// and two parts of them, leave room for.
TILESMITH_HOST_DEVICE constexpr int steps_of_scales(int of_step, int sums) {
  return 3 * sums + 4 * of_step <= 128 ? 4 : 2;
}

// The same of weights' scales and zeros, beside one part of the sums. A step's zeros are needed while the step before is
// added.
TILESMITH_HOST_DEVICE constexpr int coded_steps_ahead(int of_step, int sums) {
  return 2 * sums + 8 * of_step <= 96 ? 4 : 2;
}

}  // namespace tilesmith
