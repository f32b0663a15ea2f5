// The left operand of f32x3 (shared/work/split.cuh): its words in registers, where they are split, a slab's while the
// products of the slab before run.
#pragma once

#include "kernels/shared/work/split.cuh"
#include "kernels/wgmma/left_operand.cuh"

namespace tilesmith {

// The words of rows that lie along K, in their order.
template <typename Tile>
class RowFragments : public PlainLeft {
  using Words = unsigned[4];

 public:
  __device__ __forceinline__ void load(unsigned tile, int group, int slab) {
    // Matrices: 8 rows and the next 8, of the slab's first chunk; then of its second.
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4, matrix = lane / 8;
    const unsigned row = 16 * warp + matrix % 2 * 8 + lane % 8;
    const unsigned chunk = unsigned(slab % kSlabsOfPanel * 2) + matrix / 2;
    const unsigned first =
        tile + unsigned(group * kGroupRows) * kPanelRowBytes + unsigned(slab / kSlabsOfPanel * Tile::kPanelBytes);
    const unsigned at = first + row * kPanelRowBytes + (chunk ^ row % kSwizzledRows) * 16;
#pragma unroll
    for (int i = 0; i < kLeftTiles; ++i) load_matrices<false>(words_[i], at + unsigned(64 * i * kPanelRowBytes));
  }

  __device__ __forceinline__ const Words& of(int i, int) const { return words_[i]; }

 private:
  static constexpr int kSlabsOfPanel = kPanelElements / kSlabK;

  Words words_[kLeftTiles];
};

template <typename Tile, typename Whole = Either<Tile::kKMajor, RowFragments<Tile>, WordFragments<Tile>>>
class SplitLeft : public Whole {
  using Words = unsigned[4];
  static constexpr int kBuffers = 2;

 public:
  // The words of the slab before the last one must have been read.
  __device__ __forceinline__ void load(unsigned tile, int group, int slab) {
    Whole::load(tile, group, slab);
#pragma unroll
    for (int i = 0; i < kLeftTiles; ++i) {
      Words& big = big_[slab % kBuffers][i];
      Words& small = small_[slab % kBuffers][i];
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        const Split parts = split(Whole::of(i, slab)[w]);
        big[w] = parts.big;
        small[w] = parts.small;
        asm volatile("" : "+r"(big[w]), "+r"(small[w])::"memory");  // before the fence in front of the products
      }
    }
  }

  __device__ __forceinline__ const Words& big(int i, int slab) const { return big_[slab % kBuffers][i]; }
  __device__ __forceinline__ const Words& small(int i, int slab) const { return small_[slab % kBuffers][i]; }

 private:
  Words big_[kBuffers][kLeftTiles], small_[kBuffers][kLeftTiles];
};
static_assert(!kThreeProducts || kSlabs % 2 == 0, "the two buffers must change places a whole number of times a step");

}  // namespace tilesmith
