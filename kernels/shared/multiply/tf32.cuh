// Rounding of f32 operands to what the tensor cores take of them.
#pragma once

namespace tilesmith {

// f32 → tf32, to nearest; infinities and NaN stay what they are. (Below sm_90 a NaN whose payload lies in the low 13
// bits alone becomes infinity, as by cvt.rna.tf32.f32, which ptxas makes of the same addition and a mask.)
__device__ __forceinline__ unsigned rounded_to_tf32(unsigned bits) {
  if constexpr (kSm >= 90) {
    asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(bits) : "f"(__uint_as_float(bits)));  // one instruction, ties to even
    return bits;
  } else {
    // Half a unit of the last kept bit is added (ties away from zero); the multiplier drops the rest.
    const bool finite = fabsf(__uint_as_float(bits)) < __uint_as_float(0x7f800000u);
    return finite ? bits + 0x1000u : bits;
  }
}

}  // namespace tilesmith
