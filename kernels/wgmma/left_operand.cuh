// The left operand of a warpgroup's instructions: a descriptor of where it lies in shared memory, or, where that is not allowed,
// its words in registers.
//
// That is so for operands of 32 bits that lie MN-major, and registers may be filled in any order of rows:
//
//   panel    a row of K after the other, 32 of M or N each (128 bytes, chunks of 16 bytes exchanged by the swizzle)
//   warp     of 32 rows (along M or N) that two warps share, chunks c, c + 1, c + 4, c + 5, where c is 0 or 2
//   thread   8 bytes of a row of K: two neighbours along M or N, which become the instruction's rows g and g + 8. Those of half
//            a warp lie in different banks
#pragma once

#include "kernels/tensor_core/either.cuh"
#include "kernels/wgmma/stage.cuh"

namespace tilesmith {

class LeftDescriptors {
 public:
  // A warpgroup's rows of a stage's left tile; of K what the instructions of a slab read.
  __device__ __forceinline__ void load(unsigned tile, int group, int) {
    first_ = tile + unsigned(group) * LeftTile::offset(kGroupRows, 0);
  }
  __device__ __forceinline__ unsigned long long of(int i, int slab) const {
    return descriptor<LeftTile>(first_ + LeftTile::offset(64 * i, slab));
  }

 private:
  unsigned first_;
};

class LeftFragments {
  static constexpr int kSlabRows = 8;  // of K, of an instruction
  using Words = unsigned[4];

 public:
  __device__ __forceinline__ void load(unsigned tile, int group, int slab) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4, g = lane / 4, t = lane % 4;
    const unsigned chunk = warp % 2 * 2 + g / 2 % 2 * 4 + g / 4;
    const unsigned panel = unsigned(group * (kGroupRows / kPanelElements)) + warp / 2;
    const unsigned first = tile + panel * LeftTile::kPanelBytes + t * kPanelRowBytes + (chunk ^ t) * 16 + g % 2 * 8;
    const unsigned second = (first ^ 4 * 16) + 4 * kPanelRowBytes;
#pragma unroll
    for (int i = 0; i < kLeftTiles; ++i) {
      const unsigned at = unsigned(64 / kPanelElements * i * LeftTile::kPanelBytes + slab * kSlabRows * kPanelRowBytes);
      Words& words = words_[i][slab];
      load_pair(words[0], words[1], first + at);
      load_pair(words[2], words[3], second + at);
    }
  }

  __device__ __forceinline__ const Words& of(int i, int slab) const { return words_[i][slab]; }

  // Where load() puts rows (along M or N): the warp's first, of the group's; and from there on that of its sums (i, r).
  static __device__ __forceinline__ int first_row(int warp) { return warp / 2 * 32 + warp % 2 * 8; }
  static __device__ __forceinline__ int row(int i, int r, int g) {
    return 64 * i + g / 2 % 2 * 16 + g / 4 * 4 + g % 2 * 2 + r;
  }

 private:
  static __device__ __forceinline__ void load_pair(unsigned& first, unsigned& second, unsigned from) {
    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(first), "=r"(second) : "r"(from) : "memory");
  }

  Words words_[kLeftTiles][kSlabs];
};

using LeftOperand = Either<kLeftFromRegisters, LeftFragments, LeftDescriptors>;
// Whose products are started together: a slab's words are loaded while the products of the slab before run.
constexpr int kSlabsAtATime = kLeftFromRegisters ? 1 : kSlabs;

}  // namespace tilesmith
