// Eight codes of 4 bits that are no integers (kernels/shared/multiply/codebook.cuh) as four pairs of numbers of A's
// type, exact. Nibble i is the lower number of pair i, nibble i + 4 the upper one.
//
// e2m1   Exponent and fraction move to where A's type has the lowest bits of its exponent and the highest of its fraction, which makes a number that
//        is too small by the distance of the biases, 2^14 (f16) or 2^126 (bf16), also where it is a subnormal. A
//        multiplication brings that back.
// nf4    prmt looks up bytes: eight of them by four codes of 3 bits. Bytes of both halves of the table are looked up, and chosen by the highest
//        bits of codes, which prmt spreads over a byte each.
//
// Instructions for eight codes, those of the pipe that has shifts, logic and prmt, and others: e2m1 f16 9 + 6, bf16 10
// + 9; nf4 21 + 1.
#pragma once

#include "kernels/shared/multiply/codebook.cuh"

namespace tilesmith {

template <unsigned kMask>
__device__ __forceinline__ unsigned with_masked(unsigned bits, unsigned more) {
  unsigned result;
  asm("lop3.b32 %0, %1, %2, %3, 0xf8;" : "=r"(result) : "r"(bits), "r"(more), "n"(kMask));
  return result;
}
template <unsigned kSelector>
__device__ __forceinline__ unsigned bytes_of(unsigned a, unsigned b) {
  unsigned result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "n"(kSelector));
  return result;
}
// a where bits of `of` are 0, b where they are 1.
__device__ __forceinline__ unsigned chosen(unsigned a, unsigned b, unsigned of) {
  unsigned result;
  asm("lop3.b32 %0, %1, %2, %3, 0xd8;" : "=r"(result) : "r"(a), "r"(b), "r"(of));
  return result;
}

__device__ __forceinline__ void e2m1_pairs(unsigned (&pair)[4], unsigned codes) {
  if constexpr (kOperandIsBf16) {
    constexpr unsigned kMagnitude = 0x01c001c0u, kSign = 0x80008000u, kTwoTo126 = 0x7e807e80u;
    const unsigned placed[4] = {
        codes << 6 & kMagnitude, codes << 2 & kMagnitude, codes >> 2 & kMagnitude, codes >> 6 & kMagnitude};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const unsigned small = with_masked<kSign>(placed[i], codes << (12 - 4 * i));
      asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(pair[i]) : "r"(small), "r"(kTwoTo126), "r"(kSign));
    }
  } else {
    // The lower byte of such a number is 0. Upper ones, of nibbles 0 2 4 6 and of 1 3 5 7.
    constexpr unsigned kMagnitude = 0x0e0e0e0eu, kSign = 0x80808080u, kTwoTo14 = 0x74007400u;
    const unsigned even = with_masked<kSign>(codes << 1 & kMagnitude, codes << 4),
                   odd = with_masked<kSign>(codes >> 3 & kMagnitude, codes);
    const unsigned small[4] = {
        bytes_of<0x2404>(even, 0), bytes_of<0x2404>(odd, 0), even & 0xff00ff00u, odd & 0xff00ff00u};
#pragma unroll
    for (int i = 0; i < 4; ++i) asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(pair[i]) : "r"(small[i]), "r"(kTwoTo14));
  }
}

__device__ __forceinline__ void nf4_pairs(unsigned (&pair)[4], unsigned codes) {
  const unsigned places = bytes_of<0x3120>(codes, 0) & 0x77777777u, lifted = codes << 4;  // nibbles 0 1 4 5, 2 3 6 7
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const unsigned at = places >> (16 * half);
    const unsigned upper = half == 0 ? bytes_of<0xeac8>(lifted, codes) : bytes_of<0xfbd9>(lifted, codes);
    const unsigned low = chosen(nf4_plane<0, false>(at), nf4_plane<0, true>(at), upper),
                   high = chosen(nf4_plane<1, false>(at), nf4_plane<1, true>(at), upper);
    pair[2 * half] = bytes_of<0x6240>(low, high);
    pair[2 * half + 1] = bytes_of<0x7351>(low, high);
  }
}

__device__ __forceinline__ void codebook_pairs(unsigned (&pair)[4], unsigned codes) {
  if constexpr (kWeightIsE2m1) {
    e2m1_pairs(pair, codes);
  } else {
    nf4_pairs(pair, codes);
  }
}

}  // namespace tilesmith
