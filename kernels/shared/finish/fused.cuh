// How sums are finished where the epilogue is not linear, or integers become real: D ← act(r·cᵀ ∘ α·acc + β·C + bias),
// in the scale type. Kernels without an epilogue (kHasEpilogue) store by scale.cuh alone.
#pragma once

#include "kernels/shared/finish/scale.cuh"

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
constexpr bool kActivates = !kIdentity && !kIsGated;

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
  } else if constexpr (kReluSquared) {
    return x < S(0) ? S(0) : x * x;
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

// What the quotient and the power of each would take of the slow operations is most of what an activation takes. So two
// share a reciprocal: 1/a = b·(1/ab).
//
// Powers are kept to 2^63, so that ab does not overflow; what is left of σ there, 2^−62, is taken off, and nothing
// below 0 is kept. So σ is off by 2^−62 at most besides what rounding does, 0 where it is below that, and −∞ becomes
// NaN as in times_sigmoid().
struct Sigmoids {
  static constexpr float kMostPower = 63, kLeft = 2.168404344971009e-19F;  // 2^−62

  float first, second;

  // Of u where first_power = −u·log2(e).
  __device__ __forceinline__ Sigmoids(float first_power, float second_power) {
    const float a = 1 + power_of_two(first_power), b = 1 + power_of_two(second_power);
    float of_both;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(of_both) : "f"(a * b));
    first = less_left(b, of_both);
    second = less_left(a, of_both);
  }

 private:
  static __device__ __forceinline__ float power_of_two(float power) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(fminf(power, kMostPower)));  // of NaN, too
    return result;
  }
  static __device__ __forceinline__ float less_left(float other, float of_both) {
    float result;
    asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(result) : "f"(other), "f"(of_both), "f"(-kLeft));
    return result;
  }
};

constexpr float kMinusLog2E = -1.44269504088896340736F;

// −u·log2(e) for x·σ(u).
__device__ __forceinline__ float power_of_activation(float x) {
  if constexpr (kGeluTanh) {
    constexpr float kLinear = float(-1.44269504088896340736 * 2 * 0.79788456080286535588),
                    kCubic = float(-1.44269504088896340736 * 2 * 0.79788456080286535588 * 0.044715);
    return x * (kLinear + kCubic * (x * x));
  } else {
    return kMinusLog2E * x;
  }
}

template <typename S>
constexpr bool kSharesReciprocals = false;
template <>
constexpr bool kSharesReciprocals<float> = true;

// Neighbours, each as activated() has it.
template <typename S, int Count>
__device__ __forceinline__ void activate(S (&x)[Count]) {
  if constexpr ((kGeluTanh || kSilu) && kSharesReciprocals<S> && Count % 2 == 0) {
#pragma unroll
    for (int e = 0; e < Count; e += 2) {
      const Sigmoids sigmoids(power_of_activation(x[e]), power_of_activation(x[e + 1]));
      x[e] *= sigmoids.first;
      x[e + 1] *= sigmoids.second;
    }
  } else {
#pragma unroll
    for (int e = 0; e < Count; ++e) x[e] = activated(x[e]);
  }
}

// A sum of D[m][n] times its scales. Before α, and before what C holds is added.
template <typename S, typename Args>
__device__ __forceinline__ S times_scales(S sum, const Args& args, int m, int n) {
  if (kScaleM) sum *= S(args.scale_m[kScaleEachRow ? m : 0]);
  if (kScaleN) sum *= S(args.scale_n[kScaleEachColumn ? n : 0]);
  return sum;
}

// Behind α·acc + β·C.
template <typename S>
__device__ __forceinline__ S fused(S sum, BiasType bias) { return activated(kHasBias ? added<S>(sum, S(bias)) : sum); }

// D[m][n] of the whole sum, element by element.
template <typename Sum>
__device__ __forceinline__ Output fused_output(const GemmArgs& args, int m, int n, Sum sum) {
  const ScaleType alpha(scale_as<ScaleType>(args.alpha)), beta(scale_as<ScaleType>(args.beta));
  const ScaleType held =
      beta == ScaleType(0) ? ScaleType(0) : ScaleType(static_cast<const Output*>(args.c)[m * args.ldc + n]);
  const BiasType bias = kHasBias ? static_cast<const BiasType*>(args.bias)[kBiasAlongN ? n : m] : BiasType(0);
  const ScaleType product = times_scales(ScaleType(sum), args, m, n);
  return Output(fused<ScaleType>(linear<ScaleType>(alpha, product, beta, held), bias));
}

}  // namespace tilesmith
