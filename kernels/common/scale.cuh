// The arithmetic of C ← α·acc + β·C, and how α and β are read from the kernel's argument.
#pragma once

#include "kernels/common/gemm_args.cuh"

namespace tilesmith {

#ifdef TILESMITH_DEVICE_SCALARS
// In a launch that may come early, behind its wait (overlap.cuh).
template <typename T>
__device__ __forceinline__ T scale_as(const Scale& scale) { return scale.at == nullptr ? T(0) : *static_cast<const T*>(scale.at); }

// The host does not know that α is 0, and the product is computed: nothing becomes of it then, be it NaN or infinite.
template <typename T>
__device__ __forceinline__ T scaled(T alpha, T value) { return alpha == T(0) ? T(0) : alpha * value; }
#else
template <typename T>
__device__ __forceinline__ T scale_as(const Scale& scale);
template <>
__device__ __forceinline__ float scale_as<float>(const Scale& scale) { return scale.f32; }
template <>
__device__ __forceinline__ int scale_as<int>(const Scale& scale) { return scale.s32; }
template <>
__device__ __forceinline__ double scale_as<double>(const Scale& scale) { return scale.f64; }

// Products and sums of s32 wrap modulo 2^32: computed unsigned, where wrapping is defined.
template <typename T>
__device__ __forceinline__ T scaled(T alpha, T value) { return alpha * value; }
#endif
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
