// From a lane's codes of 6 bits (shared/multiply/k_quants_layout.cuh) to numbers of A's type, two in a register: code − 32,
// exact in either type, made as numbers_of_nibbles() makes them.
#pragma once

#include "kernels/shared/multiply/codes.cuh"
#include "kernels/shared/multiply/k_quants_layout.cuh"

namespace tilesmith {

struct SixBitCodes {
  uint4 lower;
  uint2 upper;
};

// Bits of a where the mask is set, and of b elsewhere, in one instruction.
template <unsigned kMask>
__device__ __forceinline__ unsigned either(unsigned a, unsigned b) {
  unsigned result;
  asm("lop3.b32 %0, %1, %2, %3, 0xe4;" : "=r"(result) : "r"(a), "r"(b), "n"(kMask));
  return result;
}

// The step of 16 columns `product` of a block.
__device__ __forceinline__ void numbers(Fragment& to, const SixBitCodes& lane, int product) {
  const unsigned words[4] = {lane.lower.x, lane.lower.y, lane.lower.z, lane.lower.w};
  const unsigned uppers = product < 2 ? lane.upper.x : lane.upper.y;
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    // Codes of pair i from bit 0 on, those of pair i + 1 from bit 4 on: upper bits go to 4 and 5, and to 8 and 9.
    const int left = 4 - 8 * (product % 2) - i;
    const unsigned lower = words[product] >> (4 * i), upper = left > 0 ? uppers << left : uppers >> -left;
    const unsigned first = either<0x000f000fu>(lower, upper), second = either<0x00f000f0u>(lower, upper);
    if constexpr (kOperandIsBf16) {
      constexpr unsigned kOffset = twice(0x4300u + kWeightOffset);
      to.pair[i] = pair_sub(masked<0x003f003fu, 0x43004300u>(first), kOffset);
      to.pair[i + 1] = pair_sub(masked<0x003f003fu, 0x43004300u>(second >> 4), kOffset);
    } else {
      constexpr unsigned kSixteenth = twice(0x2c00u), kOffset = twice(f16_bits(1024 + kWeightOffset)),
                         kMinusOffset = twice(0x8000u | f16_bits(64 + kWeightOffset));
      to.pair[i] = pair_sub(masked<0x003f003fu, 0x64006400u>(first), kOffset);
      to.pair[i + 1] = pair_fma(masked<0x03f003f0u, 0x64006400u>(second), kSixteenth, kMinusOffset);
    }
  }
}

}  // namespace tilesmith
