// How sums are finished where the epilogue is not linear, or integers become real: D ← act(r·cᵀ ∘ α·acc + β·C + bias), in the scale
// type. Of kernels that are compiled with TILESMITH_EPILOGUE (kernels/render.hpp).
#pragma once

#include "kernels/common/scale.cuh"

namespace tilesmith {

// Sums of integers whose results are real numbers become real in their registers, which are as wide.
template <typename Sum, typename S>
constexpr bool kBecomesReal = false;
template <>
constexpr bool kBecomesReal<int, float> = true;
constexpr bool kSumsBecomeReal = kBecomesReal<Accumulator, ScaleType>;

// A value on its way through the epilogue, in a sum's registers.
__device__ __forceinline__ Accumulator kept(ScaleType value) {
  if constexpr (kSumsBecomeReal) {
    return __float_as_int(value);
  } else {
    return Accumulator(value);
  }
}
__device__ __forceinline__ ScaleType value_of(Accumulator kept) {
  if constexpr (kSumsBecomeReal) {
    return __int_as_float(kept);
  } else {
    return ScaleType(kept);
  }
}

constexpr bool kHasScales = kScaleM || kScaleN;
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

// A sum of D[m][n] times its scales. Before α, and before what C holds is added.
template <typename S>
__device__ __forceinline__ S times_scales(S sum, const ExtendedArgs& more, int m, int n) {
  if (kScaleM) sum *= S(more.scale_m[kScaleEachRow ? m : 0]);
  if (kScaleN) sum *= S(more.scale_n[kScaleEachColumn ? n : 0]);
  return sum;
}

// Behind α·acc + β·C.
template <typename S>
__device__ __forceinline__ S fused(S sum, BiasType bias) { return activated(kHasBias ? added<S>(sum, S(bias)) : sum); }

// D[m][n] of the whole sum, element by element.
template <typename Sum>
__device__ __forceinline__ Output fused_output(const GemmArgs& args, int m, int n, Sum sum) {
  const ScaleType alpha(scale_as<ScaleType>(args.alpha)), beta(scale_as<ScaleType>(args.beta));
  const ScaleType held = beta == ScaleType(0) ? ScaleType(0) : ScaleType(static_cast<const Output*>(args.more.c)[m * args.ldc + n]);
  const BiasType bias = kHasBias ? static_cast<const BiasType*>(args.more.bias)[kBiasAlongN ? n : m] : BiasType(0);
  const ScaleType product = times_scales(ScaleType(sum), args.more, m, n);
  return Output(fused<ScaleType>(linear<ScaleType>(alpha, product, beta, held), bias));
}

}  // namespace tilesmith
