// The arithmetic of an epilogue that is not linear: D ← act(α·acc + β·C + bias), in the scale type. Of kernels that are compiled with
// TILESMITH_EPILOGUE (kernels/render.hpp).
#pragma once

#include "kernels/common/scale.cuh"

namespace tilesmith {

constexpr bool kHasBias = kBiasAlongN || kBiasAlongM;

__device__ __forceinline__ float exponential(float x) { return __expf(x); }
__device__ __forceinline__ double exponential(double x) { return exp(x); }
__device__ __forceinline__ float quotient(float a, float b) { return __fdividef(a, b); }
__device__ __forceinline__ double quotient(double a, double b) { return a / b; }
__device__ __forceinline__ float error_function(float x) { return erff(x); }
__device__ __forceinline__ double error_function(double x) { return erf(x); }

// x·σ(x). Where e^−x overflows it is −0, as x·σ(x) is nearly; of −∞ NaN.
template <typename S>
__device__ __forceinline__ S times_sigmoid(S x, S of) { return quotient(x, S(1) + exponential(-of)); }

template <typename S>
__device__ __forceinline__ S activated(S x) {
  if constexpr (kRelu) {
    return x < S(0) ? S(0) : x;  // NaN stays
  } else if constexpr (kGelu) {
    return S(0.5) * x * (S(1) + error_function(x * S(0.70710678118654752440)));
  } else if constexpr (kGeluTanh) {
    // ½·x·(1 + tanh u) = x·σ(2u): 1 + tanh u would cancel where x < 0.
    constexpr S kTwice = S(2 * 0.79788456080286535588);  // 2·√(2/π)
    return times_sigmoid(x, kTwice * (x + S(0.044715) * x * x * x));
  } else if constexpr (kSilu) {
    return times_sigmoid(x, x);
  } else {
    return x;
  }
}

// Behind α·acc + β·C.
template <typename S>
__device__ __forceinline__ S fused(S sum, BiasType bias) { return activated(kHasBias ? added<S>(sum, S(bias)) : sum); }

}  // namespace tilesmith
