// From codes of weights (kernels/shared/multiply/weights_layout.cuh) to numbers of A's type, two in a register. All of
// this is exact but the last two steps: what a zero point takes off, and a scale multiplies, is rounded to A's type.
//
// A code becomes the fraction of a number whose exponent is known, and that number's own value is taken off:
//   f16   0x6400 | code = 1024 + code       bf16   0x4300 | code = 128 + code, of codes below 128
#pragma once

#include "kernels/shared/multiply/codebook_pairs.cuh"

namespace tilesmith {

// a & mask | bits, in one instruction.
template <unsigned kMask, unsigned kBits>
__device__ __forceinline__ unsigned masked(unsigned a) {
  unsigned result;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(result) : "r"(a), "n"(kMask), "n"(kBits));
  return result;
}

__device__ __forceinline__ unsigned pair_sub(unsigned a, unsigned b) {
  unsigned result;
  if constexpr (kOperandIsBf16) {  // there is no subtraction below sm_90
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(b), "r"(0xbf80bf80u), "r"(a));
  } else {
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  }
  return result;
}
__device__ __forceinline__ unsigned pair_mul(unsigned a, unsigned b) {
  unsigned result;
  if constexpr (kOperandIsBf16) {
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(0x80008000u));
  } else {
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  }
  return result;
}
__device__ __forceinline__ unsigned pair_fma(unsigned a, unsigned b, unsigned c) {
  unsigned result;
  if constexpr (kOperandIsBf16) {
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  } else {
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  }
  return result;
}

// Whole numbers below 2048 (f16) or 256 (bf16) as bits, twice.
constexpr unsigned f16_bits(unsigned value) {
  if (value == 0) return 0;
  unsigned exponent = 10;
  while (value < 1024) value <<= 1, --exponent;
  return (exponent + 15) << 10 | (value & 1023);
}
constexpr unsigned twice(unsigned bits) { return bits << 16 | bits; }

constexpr bool kConvertsFp8 = kSm >= 89;

// The left operand of a step of 16 columns. Pairs a0 .. a3 as kernels/problem/weights.hpp has them.
struct Fragment {
  unsigned pair[4];
};

__device__ __forceinline__ void numbers_of_nibbles(Fragment& to, unsigned codes) {
  if constexpr (kOperandIsBf16) {
    constexpr unsigned kOffset = twice(0x4300u + kWeightOffset);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const unsigned biased = masked<0x000f000fu, 0x43004300u>(codes >> (4 * i));
      to.pair[i] = pair_sub(biased, kOffset);
    }
  } else {
    constexpr unsigned kSixteenth = twice(0x2c00u), kOffset = twice(f16_bits(1024 + kWeightOffset)),
                       kMinusOffset = twice(0x8000u | f16_bits(64 + kWeightOffset));
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
      to.pair[i] = pair_sub(masked<0x000f000fu, 0x64006400u>(codes >> (4 * i)), kOffset);
      // 1024 + 16·code, of which a sixteenth.
      to.pair[i + 1] = pair_fma(masked<0x00f000f0u, 0x64006400u>(codes >> (4 * i)), kSixteenth, kMinusOffset);
    }
  }
}

// e4m3 by shifting: exponent and fraction into f16's, whose bias is 8 more. 0x7f is NaN: the exponent's highest bit is
// then set as well.
__device__ __forceinline__ unsigned f16_of_shifted_e4m3(unsigned high_bytes) {
  constexpr unsigned kTwoToEight = twice(0x5c00u);
  const unsigned magnitude = high_bytes >> 1 & 0x3f803f80u;
  const unsigned is_nan = (magnitude + 0x00800080u) & 0x40004000u;
  unsigned result;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(result) : "r"(magnitude | is_nan | (high_bytes & 0x80008000u)), "r"(kTwoToEight));
  return result;
}

// Two of e4m3, the lower bytes of the result's halves first.
__device__ __forceinline__ unsigned pair_of_e4m3(unsigned codes, bool upper) {
  unsigned halves;
  if constexpr (kConvertsFp8) {
    asm("{\n.reg .b16 l, h;\nmov.b32 {l, h}, %1;\ncvt.rn.f16x2.e4m3x2 %0, l;\n}" : "=r"(halves) : "r"(upper ? codes >> 16 : codes));
  } else {
    halves = f16_of_shifted_e4m3(__byte_perm(codes, 0, upper ? 0x3424 : 0x1404));
  }
  if constexpr (kOperandIsBf16) {
    asm("{\n.reg .b16 l, h;\n.reg .f32 x, y;\nmov.b32 {l, h}, %1;\ncvt.f32.f16 x, l;\ncvt.f32.f16 y, h;\ncvt.rn.bf16x2.f32 %0, y, x;\n}"
        : "=r"(halves)
        : "r"(halves));
  }
  return halves;
}

__device__ __forceinline__ void numbers_of_bytes(Fragment& to, unsigned first, unsigned second) {
  constexpr unsigned kOffset = twice(f16_bits(1024 + kWeightOffset));
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned codes = i < 2 ? first : second;
    if constexpr (kWeightIsFloat) {
      to.pair[i] = pair_of_e4m3(codes, i % 2 == 1);
    } else if constexpr (kOperandIsBf16) {  // 128 + the lower seven bits, less 256, or 128 where the highest is set
      const unsigned bytes = __byte_perm(codes, 0, i % 2 == 1 ? 0x4342 : 0x4140);
      unsigned less;
      asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(less) : "r"(bytes), "n"(0x00800080u), "n"(0x43804380u));
      to.pair[i] = pair_sub(masked<0x007f007fu, 0x43004300u>(bytes), less);
    } else {
      to.pair[i] = pair_sub(__byte_perm(codes, 0x64646464u, i % 2 == 1 ? 0x4342 : 0x4140), kOffset);
    }
  }
}

// Of a lane's 16 bytes of a block of weights: the step of 16 columns `product`.
__device__ __forceinline__ void numbers(Fragment& to, const uint4& lane, int product) {
  const unsigned words[4] = {lane.x, lane.y, lane.z, lane.w};
  if constexpr (kWeightIsCodebook) {
    codebook_pairs(to.pair, words[product]);
  } else if constexpr (kWeightBits == 4) {
    numbers_of_nibbles(to, words[product]);
  } else {
    numbers_of_bytes(to, words[2 * product], words[2 * product + 1]);
  }
}

// Of a strip's rows g and g + 8.
struct RowPair {
  unsigned low, high;  // each twice, in A's type
};

__device__ __forceinline__ void take_zeros(Fragment& of, const RowPair& zeros) {
#pragma unroll
  for (int i = 0; i < 4; ++i) of.pair[i] = pair_sub(of.pair[i], i % 2 == 0 ? zeros.low : zeros.high);
}
__device__ __forceinline__ void multiply_scales(Fragment& of, const RowPair& scales) {
#pragma unroll
  for (int i = 0; i < 4; ++i) of.pair[i] = pair_mul(of.pair[i], i % 2 == 0 ? scales.low : scales.high);
}

}  // namespace tilesmith
