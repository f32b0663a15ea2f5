// The arithmetic of C ← α·acc + β·C, and how α and β are read from the kernel's argument.
#pragma once

#include "kernels/shared/gemm_args.cuh"

namespace tilesmith {

template <typename T>
__device__ __forceinline__ T value_of(const Scale& scale);
template <>
__device__ __forceinline__ float value_of<float>(const Scale& scale) { return scale.f32; }
template <>
__device__ __forceinline__ int value_of<int>(const Scale& scale) { return scale.s32; }
template <>
__device__ __forceinline__ double value_of<double>(const Scale& scale) { return scale.f64; }

// In a launch that may come early, call it behind the launch's wait (overlap.cuh): α and β may be in device memory.
template <typename T>
__device__ __forceinline__ T scale_as(const Scale& scale) {
  if constexpr (kScalarsOnDevice) return scale.at == nullptr ? T(0) : *static_cast<const T*>(scale.at);
  return value_of<T>(scale);
}

// If α is in device memory, the product is computed even where α is 0. It must not leave a trace then, even if it is
// NaN or infinite.
template <typename T>
__device__ __forceinline__ T scaled(T alpha, T value) {
  if constexpr (kScalarsOnDevice) return alpha == T(0) ? T(0) : alpha * value;
  return alpha * value;
}
// Products and sums of s32 wrap modulo 2^32: computed unsigned, where wrapping is defined.
template <>
__device__ __forceinline__ int scaled<int>(int alpha, int value) { return int(unsigned(alpha) * unsigned(value)); }

template <typename T>
__device__ __forceinline__ T added(T a, T b) { return a + b; }
template <>
__device__ __forceinline__ int added<int>(int a, int b) { return int(unsigned(a) + unsigned(b)); }

// α·acc where β = 0: C is not read.
template <typename Out, typename S, typename Acc>
__device__ __forceinline__ Out linear(S alpha, Acc acc) {
  return Out(scaled<S>(alpha, S(acc)));
}

template <typename Out, typename S, typename Acc>
__device__ __forceinline__ Out linear(S alpha, Acc acc, S beta, Out c) {
  return Out(added<S>(scaled<S>(alpha, S(acc)), scaled<S>(beta, S(c))));
}

}  // namespace tilesmith
