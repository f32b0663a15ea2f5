// What codes of 4 bits stand for where they are no integers. Host and device read the upper part of this file.
//
//   e2m1   the elements of MXFP4 (OCP Microscaling Formats 1.0): sign, 2 bits of exponent, 1 of fraction. ±0, 0.5, 1, 1.5, 2, 3, 4 or 6.
//   nf4    places in the table below, rounded to A's type, to nearest: that is the weight, and no error. Its values are those of NormalFloat4
//          (Dettmers et al., "QLoRA", 2023, appendix E), in the digits that bitsandbytes has.
#pragma once

#include "kernels/shared/host_device.cuh"

namespace tilesmith {

TILESMITH_HOST_DEVICE constexpr double nf4_value(int code) {
  constexpr double kNegative[8] = {-1.0,
                                   -0.6961928009986877,
                                   -0.5250730514526367,
                                   -0.39491748809814453,
                                   -0.28444138169288635,
                                   -0.18477343022823334,
                                   -0.09105003625154495,
                                   0.0};
  constexpr double kPositive[8] = {0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
                                   0.44070982933044434, 0.5626170039176941,  0.7229568362236023,  1.0};
  return code < 8 ? kNegative[code] : kPositive[code - 8];
}

// The same as bits of f16 or bf16, to nearest. There are no ties and no subnormals.
TILESMITH_HOST_DEVICE constexpr unsigned nf4_bits(int code, bool bf16) {
  const double value = nf4_value(code);
  double magnitude = value < 0 ? -value : value;
  if (magnitude == 0) return 0;
  const int fraction_bits = bf16 ? 7 : 10;
  unsigned exponent = bf16 ? 127 : 15;
  while (magnitude < 1) magnitude *= 2, --exponent;
  const auto fraction =
      static_cast<unsigned>((magnitude - 1) * (1 << fraction_bits) + 0.5);  // may carry into the exponent
  return (value < 0 ? 0x8000u : 0u) | ((exponent << fraction_bits) + fraction);
}

// Byte `plane` (0: the lower one) of the four codes from `first` on, the first one's lowest.
TILESMITH_HOST_DEVICE constexpr unsigned nf4_bytes(int first, int plane, bool bf16) {
  unsigned bytes = 0;
  for (int i = 0; i < 4; ++i) bytes |= (nf4_bits(first + i, bf16) >> 8 * plane & 255u) << 8 * i;
  return bytes;
}

}  // namespace tilesmith

#ifdef __CUDACC__
namespace tilesmith {

// A byte of each of four codes below 8 (8 and on: kUpper), which are the nibbles of `codes` from the lowest on.
template <int kPlane, bool kUpper>
__device__ __forceinline__ unsigned nf4_plane(unsigned codes) {
  constexpr unsigned kFirst = nf4_bytes(kUpper ? 8 : 0, kPlane, kOperandIsBf16),
                     kSecond = nf4_bytes(kUpper ? 12 : 4, kPlane, kOperandIsBf16);
  unsigned bytes;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(kFirst), "r"(kSecond), "r"(codes));
  return bytes;
}

// One of them.
__device__ __forceinline__ float codebook_value(int code) {
  if constexpr (kWeightIsE2m1) {
    // As an f32 that is 2^126 times too small, subnormals too.
    const float value = __int_as_float((code & 7) << 22) * 8.507059173023462e+37F;
    return (code & 8) != 0 ? -value : value;
  } else {
    const unsigned place = unsigned(code) & 7u;
    const unsigned low = code < 8 ? nf4_plane<0, false>(place) : nf4_plane<0, true>(place),
                   high = code < 8 ? nf4_plane<1, false>(place) : nf4_plane<1, true>(place);
    const auto bits = static_cast<unsigned short>((low & 255u) | (high & 255u) << 8);
    return float(reinterpret_cast<const Operand&>(bits));
  }
}

}  // namespace tilesmith
#endif
