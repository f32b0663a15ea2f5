// In which order kernels of gated epilogues multiply B's columns, so that a thread holds both sums of a pair. Host and
// device read this same file.
//
//   paired    0 .. 7       8 .. 15      16 .. 23      24 .. 31   ...      of pair j, x stands at 16·(j / 8) + j % 8, y 8 behind it
//   pairs     x of 0..7    y of 0..7    x of 8..15    y of 8..15
//
// What an instruction leaves of 8 columns in a thread, and of the next 8, are then x and y of the same elements of D.
#pragma once

#include "kernels/shared/host_device.cuh"

namespace tilesmith {

constexpr int kPairedRun = 8;               // pairs whose x stand side by side
constexpr int kPairedStep = 2 * kPairedRun;  // columns of them

// Columns in this order of a product of n: whole steps, of which the last may have places for pairs that are not there.
TILESMITH_HOST_DEVICE constexpr long long paired_columns(long long n) {
  return (n / 2 + kPairedRun - 1) / kPairedRun * kPairedStep;
}

}  // namespace tilesmith
