// Weights of GGUF's K-quants, kIsQ4k and kIsQ6k, in f32. d · s and dmin · m are exact: 11 bits times 6, or times 8; and so
// is d · s · code of either.
#pragma once

#include "kernels/shared/either.cuh"
#include "kernels/shared/multiply/k_quants_layout.cuh"
#include "kernels/shared/work/batch.cuh"

namespace tilesmith {

// Scales of 16-bit words are those of Q4_K alone, those of a byte of Q6_K.
template <typename Scale>
constexpr bool kIsWord = false;
template <>
constexpr bool kIsWord<unsigned short> = true;
constexpr bool kIsQ4k = kIsWord<WeightScale>, kIsQ6k = kHasWeights && sizeof(WeightScale) == 1;
constexpr bool kIsKQuant = kIsQ4k || kIsQ6k;

// The factors of 256 columns of a row: d and dmin, or d.
using Super = Either<kIsQ6k, unsigned short, SuperFactors>;

// Those of as many columns as share a scale.
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
__device__ __forceinline__ GroupFactors factors_of(unsigned scale, unsigned short d) {
  return {f32_of_f16_bits(d) * float(int(scale)), 0.0F};
}

// As matrices_of_entry(). Factors of experts lie one behind the other, as their scales do.
template <typename Entry>
__device__ __forceinline__ decltype(auto) operands_of_entry(const GemmArgs& all, const Entry& entry) {
  if constexpr (kIsKQuant && kIsGrouped) {
    GemmArgs its = matrices_of_entry(all, entry);
    its.zeros = static_cast<const Super*>(all.zeros) +
                int(entry) * (static_cast<long long>(all.k / kSuperColumns) * all.n);
    return its;
  } else {
    return matrices_of_entry(all, entry);
  }
}

}  // namespace tilesmith
