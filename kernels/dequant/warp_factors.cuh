// Factors of K-quants (kernels/shared/multiply/k_quants.cuh) in f32, for the rows of a warp's strips and the columns that
// it multiplies at once. A lane makes those of a row or two, and all lanes read them from shared memory: if each lane made
// those that it needs, this would take longer than reading the weights.
//
// Codes of Q4_K are multiplied with the bias that makes them numbers (codes.cuh). What that adds to a group's products,
// scale · bias · (sum of A), is part of its minimum.
#pragma once

#include "kernels/dequant/shape.cuh"
#include "kernels/shared/multiply/codes.cuh"
#include "kernels/shared/multiply/six_bits.cuh"

namespace tilesmith {

constexpr float kCodeBias = kOperandIsBf16 ? 128.0F : 1024.0F;

__device__ __forceinline__ void load_super(SuperFactors& super, unsigned supers, int row) {
  asm volatile("ld.shared.v2.u16 {%0, %1}, [%2];" : "=h"(super.d), "=h"(super.dmin) : "r"(supers + row * 4));
}
__device__ __forceinline__ void load_super(unsigned short& d, unsigned supers, int row) {
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(d) : "r"(supers + row * 2));
}
__device__ __forceinline__ void make_factor(
    GroupFactors& factor, const SuperFactors& super, unsigned scales, int row, int group) {
  unsigned short pair;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(pair) : "r"(scales + (group * kBlockN + row) * 2));
  const GroupFactors factors = factors_of(pair, super);
  factor = {factors.scale, fmaf(kCodeBias, factors.scale, factors.minimum)};
}
__device__ __forceinline__ void make_factor(float& factor, unsigned short d, unsigned scales, int row, int group) {
  int scale;
  asm volatile("ld.shared.s8 %0, [%1];" : "=r"(scale) : "r"(scales + row * 4 + group));
  factor = factors_of(unsigned(scale), d).scale;
}
__device__ __forceinline__ float scale_of(const GroupFactors& factors) { return factors.scale; }
__device__ __forceinline__ float scale_of(float factor) { return factor; }

struct WarpFactors {
  Factor of[kFactorGroups][kFactorRows];

  // `scales`, `supers`: where those of the block's first row lie for these columns. `first_row`: the warp's.
  __device__ __forceinline__ void make(unsigned scales, unsigned supers, int first_row) {
    constexpr int kLanes = kFactorRows < 32 ? kFactorRows : 32;  // that have different rows
    const int lane = int(threadIdx.x % 32);
    __syncwarp();  // all have read the factors before
#pragma unroll
    for (int rows = 0; rows < kFactorRows; rows += kLanes) {
      const int row = rows + lane % kLanes, of_block = first_row + row;
      Super super;
      load_super(super, supers, of_block);
#pragma unroll
      for (int groups = 0; groups < kFactorGroups; groups += 32 / kLanes) {
        const int group = groups + lane / kLanes;
        make_factor(of[group][row], super, scales, of_block, group);
      }
    }
    __syncwarp();
  }
};

// A lane's 16 bytes of codes of a block, and of Q6_K 8 more.
struct SixBits {
  SixBitCodes codes;

  __device__ __forceinline__ void load(unsigned block, int lane) {
    const unsigned from = block + lane * 16, upper = block + kCodeBlockBytes + lane * 8;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(codes.lower.x), "=r"(codes.lower.y), "=r"(codes.lower.z), "=r"(codes.lower.w)
                 : "r"(from));
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(codes.upper.x), "=r"(codes.upper.y) : "r"(upper));
  }
};

// How codes of a strip become numbers, beside scales.
struct SixBitNumbers {
  __device__ __forceinline__ void load(unsigned, int) {}
  __device__ __forceinline__ void numbers_of(Fragment& to, const SixBitCodes& codes, int product) const {
    numbers(to, codes, product);
  }
};
struct BiasedCodes {
  __device__ __forceinline__ void load(unsigned, int) {}
  __device__ __forceinline__ void numbers_of(Fragment& to, const uint4& codes, int product) const {
    const unsigned words[4] = {codes.x, codes.y, codes.z, codes.w};
#pragma unroll
    for (int i = 0; i < 4; ++i)
      to.pair[i] = masked<0x000f000fu, (kOperandIsBf16 ? 0x43004300u : 0x64006400u)>(words[product] >> (4 * i));
  }
};

}  // namespace tilesmith
