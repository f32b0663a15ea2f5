// A left operand of weights (kernels/shared/multiply/weights_layout.cuh): a stage has their codes as they lie, which
// become numbers in registers, a slab's while the products of the slab before run. Scales come straight from memory, a
// step's while the step before is multiplied.
#pragma once

#include "kernels/shared/multiply/codes.cuh"
#include "kernels/wgmma/left_operand.cuh"

namespace tilesmith {

template <typename Tile>
class WeightFragments : public PlainLeft {
  using Words = unsigned[4];
  static constexpr int kSlabsOfBlock = kCodeColumns / kSlabK;
  static constexpr int kGroups =
      kWeightGroup == 0 || kWeightGroup >= kBlockK ? 1 : kBlockK / kWeightGroup;  // of a step
  static constexpr int kSlabsOfGroup = kSlabs / kGroups;

  struct Vectors {
    WeightScale scales[kGroups][kLeftTiles][2], zeros[kGroups][kLeftTiles][2];  // of rows g and g + 8
  };

 public:
  // Before the steps of an item. (row, k): the warp's first row of W, the item's first column.
  __device__ __forceinline__ void begin(const GemmArgs& args, int row, int k) {
    const int groups = kWeightGroup == 0 ? 1 : args.k / (kWeightGroup == 0 ? 1 : kWeightGroup);
    n_ = args.n;
    last_group_ = groups - 1;
    row_ = row + int(threadIdx.x % 32 / 4);
    k_ = k;
    scales_ = static_cast<const WeightScale*>(args.scales);
    zeros_ = static_cast<const WeightScale*>(args.zeros);
    fetch();
  }

  // Before a step's first load(): what was fetched becomes the step's, and the next step's is fetched.
  __device__ __forceinline__ void next_step() {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
#pragma unroll
      for (int i = 0; i < kLeftTiles; ++i) {
        factors_[group][i] = rows(coming_.scales[group][i]);
        if constexpr (kWeightZeros) taken_[group][i] = rows(coming_.zeros[group][i]);
      }
    }
    k_ += kNextStep;
    fetch();
  }

  __device__ __forceinline__ void load(unsigned tile, int group, int slab) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
#pragma unroll
    for (int i = 0; i < kLeftTiles; ++i) {
      const unsigned strip = unsigned(group * (kGroupRows / kCodeBlockRows) + 4 * i) + warp;
      if (slab % kSlabsOfBlock == 0) {
        const unsigned from =
            tile + (strip * Tile::kBlocks + unsigned(slab / kSlabsOfBlock)) * kCodeBlockBytes + lane * 16;
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(codes_[i].x), "=r"(codes_[i].y), "=r"(codes_[i].z), "=r"(codes_[i].w)
                     : "r"(from)
                     : "memory");
      }
      Fragment made;
      numbers(made, codes_[i], slab % kSlabsOfBlock);
      if constexpr (kWeightZeros) take_zeros(made, taken_[slab / kSlabsOfGroup][i]);
      multiply_scales(made, factors_[slab / kSlabsOfGroup][i]);
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        words_[i][slab][w] = made.pair[w];
        asm volatile("" : "+r"(words_[i][slab][w])::"memory");  // before the fence in front of the products
      }
    }
  }

  __device__ __forceinline__ const Words& of(int i, int slab) const { return words_[i][slab]; }

 private:
  static __device__ __forceinline__ unsigned pair(WeightScale value) {
    return reinterpret_cast<const unsigned short&>(value) * 0x10001u;
  }
  static __device__ __forceinline__ RowPair rows(const WeightScale (&of)[2]) { return {pair(of[0]), pair(of[1])}; }

  // Of rows beyond N and groups beyond K the last ones': what becomes of them is not stored, or multiplied by zeros of
  // A.
  __device__ __forceinline__ void fetch() {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      const int of_k = kWeightGroup == 0 ? 0 : k_ / (kWeightGroup == 0 ? 1 : kWeightGroup) + group;
      const long long first = static_cast<long long>(min(of_k, last_group_)) * n_;
#pragma unroll
      for (int i = 0; i < kLeftTiles; ++i) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const long long at = first + min(row_ + 64 * i + 8 * r, n_ - 1);
          coming_.scales[group][i][r] = scales_[at];
          if constexpr (kWeightZeros) coming_.zeros[group][i][r] = zeros_[at];
        }
      }
    }
  }

  const WeightScale *scales_, *zeros_;
  int n_, last_group_, row_, k_;
  Vectors coming_;
  RowPair factors_[kGroups][kLeftTiles], taken_[kGroups][kLeftTiles];
  uint4 codes_[kLeftTiles];
  Words words_[kLeftTiles][kSlabs];
};

}  // namespace tilesmith
