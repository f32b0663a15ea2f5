// Gated epilogues (kIsGated): D[m][j] = silu(x)·y, where x and y are the product's columns of pair j with
// their scales, α and bias.
#pragma once

#include "kernels/shared/finish/fused.cuh"

namespace tilesmith {

// Where x and y of a pair lie among the product's n columns.
__device__ __forceinline__ int column_of_x(int pair) { return kGateInterleaved ? 2 * pair : pair; }
__device__ __forceinline__ int column_of_y(int pair, int n) { return kGateInterleaved ? 2 * pair + 1 : n / 2 + pair; }

template <typename S>
__device__ __forceinline__ S gated(S x, S y) { return times_sigmoid(x, x) * y; }

// Neighbours: x ← silu(x)·y.
template <typename S, int Count>
__device__ __forceinline__ void gate_each(S (&x)[Count], const S (&y)[Count]) {
  if constexpr (kSharesReciprocals<S> && Count % 2 == 0) {
#pragma unroll
    for (int e = 0; e < Count; e += 2) {
      const Sigmoids sigmoids(kMinusLog2E * x[e], kMinusLog2E * x[e + 1]);
      x[e] = x[e] * sigmoids.first * y[e];
      x[e + 1] = x[e + 1] * sigmoids.second * y[e + 1];
    }
  } else {
#pragma unroll
    for (int e = 0; e < Count; ++e) x[e] = gated(x[e], y[e]);
  }
}

// What a sum of column n of the product is before the gate.
template <typename Sum>
__device__ __forceinline__ ScaleType before_gate(const GemmArgs& args, int m, int n, Sum sum) {
  const ScaleType product =
      scaled<ScaleType>(scale_as<ScaleType>(args.alpha), times_scales(ScaleType(sum), args, m, n));
  if constexpr (!kHasBias) return product;
  return product + ScaleType(static_cast<const BiasType*>(args.bias)[kBiasAlongN ? n : m]);
}

// D[m][pair] of whole sums.
template <typename Sum>
__device__ __forceinline__ Output gated_output(const GemmArgs& args, int m, int pair, Sum x, Sum y) {
  return Output(gated(before_gate(args, m, column_of_x(pair), x), before_gate(args, m, column_of_y(pair, args.n), y)));
}

}  // namespace tilesmith
