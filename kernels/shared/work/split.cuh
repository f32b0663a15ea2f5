// An f32 as the sum of two tf32, so that three products of tf32 make one of f32 (type pair f32x3f32):
//
//   x = big + small     big: x rounded to tf32, small: what that leaves, rounded too
//   a·b ≈ big·big + (big·small + small·big)     off by at most 2^-21 of a·b: small·small, and what small leaves
//
// What rounds beyond the largest f32 is cut off instead. An infinity is ±1 and ±∞: were it big, big·small would be ∞·0,
// or an infinity of the wrong sign. A NaN is small.
#pragma once

namespace tilesmith {

constexpr unsigned kTf32Bits = 0xffffe000u;
constexpr unsigned kHalfTf32 = 0x1000u;

struct Split {
  unsigned big, small;
};

// Of `small` the bits below tf32 are left: the multiplier drops them.
__device__ __forceinline__ Split split(unsigned bits) {
  const float x = __uint_as_float(bits);
  const bool rounds = fabsf(x) < __uint_as_float(0x7f7ff000u);  // to something finite
  // Of exponents beyond that the lowest bit is set in infinity's alone, which becomes that of 1.
  const unsigned big = rounds ? (bits + kHalfTf32) & kTf32Bits : (bits & kTf32Bits) ^ (bits << 7 & 0x40000000u);
  const unsigned small = __float_as_uint(x - __uint_as_float(big));
  return {big, rounds ? small + kHalfTf32 : small};
}

}  // namespace tilesmith
