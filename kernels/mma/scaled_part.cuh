// Family `mma` with scales of blocks of K: what a warp's products of a step add up to, before they are scaled. Products
// of s8 add up to an integer. (To start from the bits of 1.5·2^23 would save the conversion, but then ptxas 13.0 starts
// some products from zero.)
#pragma once

#include "kernels/mma/instruction.cuh"

namespace tilesmith {

// Sums are f32, and no instruction adds products of s8 to these. WarpTile (warps.cuh) names one all the same, which is
// never used here: it is empty.
template <int Selector, typename Op, typename R>
__device__ __forceinline__ void multiply_words(Sums&, const R&, const R*, int, unsigned) {}

template <typename Sum>
struct PartOf {
  Sum c[4] = {};
  __device__ __forceinline__ float value(int i) const { return float(c[i]); }
};
using Part = PartOf<Either<kOperandIsSigned, int, float>>;

}  // namespace tilesmith
