// Weights of GGUF's Q4_K (kIsQ4k) in f32. d · s and dmin · m are exact: 11 bits times 6.
#pragma once

#include "kernels/shared/multiply/q4_k_layout.cuh"
#include "kernels/shared/work/batch.cuh"

namespace tilesmith {

// Scales of 16-bit words are those of Q4_K alone.
template <typename Scale>
constexpr bool kIsWord = false;
template <>
constexpr bool kIsWord<unsigned short> = true;
constexpr bool kIsQ4k = kIsWord<WeightScale>;

// The factors of 32 columns of a row.
struct GroupFactors {
  float scale, minimum;
};

__device__ __forceinline__ float f32_of_f16_bits(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

__device__ __forceinline__ GroupFactors factors_of(unsigned scales, const SuperFactors& super) {
  return {f32_of_f16_bits(super.d) * float(scales & 0xff), f32_of_f16_bits(super.dmin) * float(scales >> 8)};
}

// As matrices_of_entry(). Factors of experts lie one behind the other, as their scales do.
template <typename Entry>
__device__ __forceinline__ decltype(auto) operands_of_entry(const GemmArgs& all, const Entry& entry) {
  if constexpr (kIsQ4k && kIsGrouped) {
    GemmArgs its = matrices_of_entry(all, entry);
    its.zeros = static_cast<const SuperFactors*>(all.zeros) +
                int(entry) * (static_cast<long long>(all.k / kSuperColumns) * all.n);
    return its;
  } else {
    return matrices_of_entry(all, entry);
  }
}

}  // namespace tilesmith
