// Weights, one by one (kHasWeights): w = scale · (v − zero), in f32. For kernels that take any shape.
#pragma once

#include "kernels/shared/multiply/codebook.cuh"
#include "kernels/shared/gemm_args.cuh"
#include "kernels/shared/multiply/k_quants.cuh"
#include "kernels/shared/multiply/weights_layout8.cuh"

namespace tilesmith {

// Of an e4m3's bits; every code but NaN's, 0x7f and 0xff, is a number.
__device__ __forceinline__ float e4m3_value(int code) {
  const int magnitude = code & 0x7f;
  // As an f32 that is 2^120 times too small, subnormals too; NaN by hand.
  const float value = __int_as_float(magnitude << 20) * 1.329227995784916e+36F;
  return magnitude == 0x7f ? __int_as_float(0x7fc00000) : (code & 0x80) != 0 ? -value : value;
}

// The value that is stored, before scale and zero.
__device__ __forceinline__ float stored_weight(const void* codes, int n, int k, int size_k) {
  if constexpr (kIsQ6k) {
    const SixBitPlace at = six_bit_place(n, k, size_k);
    const auto part = [&](CodePlace of) { return static_cast<const unsigned char*>(codes)[of.byte] >> of.shift; };
    return float(((part(at.lower) & 15) | (part(at.upper) & 3) << 4) - kWeightOffset);
  }
  const CodePlace place = sizeof(Operand) == 1 ? code_place8(n, k, size_k) : code_place(kWeightBits, n, k, size_k);
  const int code = static_cast<const unsigned char*>(codes)[place.byte] >> place.shift & ((1 << kWeightBits) - 1);
  if constexpr (kWeightIsCodebook) return codebook_value(code);
  if constexpr (kWeightIsFloat) return e4m3_value(code);
  return float(code - kWeightOffset);
}

__device__ __forceinline__ WeightScale scale_at(const GemmArgs& args, long long of_group) {
  return static_cast<const WeightScale*>(args.scales)[of_group];
}

// Row n, column k of W, which is [n][k].
__device__ __forceinline__ float weight(const GemmArgs& args, int n, int k) {
  const long long of_group =
      static_cast<long long>(kWeightGroup == 0 ? 0 : k / (kWeightGroup == 0 ? 1 : kWeightGroup)) * args.n + n;
  float value = stored_weight(args.b, n, k, args.k);
  if constexpr (kIsKQuant) {
    const long long of_super = static_cast<long long>(k / kSuperColumns) * args.n + n;
    const long long of_scale =
        kIsQ6k ? (static_cast<long long>(k / 64) * args.n + n) * 4 + k % 64 / 16 : of_group;
    const GroupFactors factors =
        factors_of(unsigned(scale_at(args, of_scale)), static_cast<const Super*>(args.zeros)[of_super]);
    return factors.scale * value - factors.minimum;
  }
  if constexpr (kWeightZeros) value -= float(static_cast<const WeightScale*>(args.zeros)[of_group]);
  return float(scale_at(args, of_group)) * value;
}

}  // namespace tilesmith
