// Family `mma` with scales of blocks of K: what a warp's products of a step add up to, before they are scaled.
//
// A product of integers is added to 1.5·2^23 as the bits of an f32. 128 of s8 come to 2^21 at most, so that these bits
// stay an f32 of this magnitude, which has the sum in its last bits: one FADD makes it real.
#pragma once

#include "kernels/mma/instruction.cuh"

namespace tilesmith {

// Sums are f32, and no instruction adds products of s8 to these. WarpTile (warps.cuh) names one all the same, which is
// never used here: it is empty.
template <int Selector, typename Op, typename R>
__device__ __forceinline__ void multiply_words(Sums&, const R&, const R*, int, unsigned) {}

constexpr float kMagnitude = 12582912.0F;  // 1.5·2^23
constexpr int kBitsOfMagnitude = 0x4b400000;

template <bool Integers>
struct PartOf {
  float c[4] = {};
  __device__ __forceinline__ float value(int i) const { return c[i]; }
};
template <>
struct PartOf<true> {
  int c[4] = {kBitsOfMagnitude, kBitsOfMagnitude, kBitsOfMagnitude, kBitsOfMagnitude};
  __device__ __forceinline__ float value(int i) const { return __int_as_float(c[i]) - kMagnitude; }
};
using Part = PartOf<kOperandIsSigned>;

}  // namespace tilesmith
