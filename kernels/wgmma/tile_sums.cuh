// A warpgroup's sums of its rows of the block's tile, in registers, and the instructions that work on them.
//
// An instruction runs by itself once it is issued: its sums may be touched only after they were waited for.
#pragma once

#include "kernels/wgmma/left_sparse.cuh"
#include "kernels/wgmma/left_split.cuh"
#include "kernels/wgmma/left_weights.cuh"

namespace tilesmith {

using LeftFragments = Either<kElementBytes == 1, ByteFragments<LeftTile>, WordFragments<LeftTile>>;
using DenseLeft =
    Either<kLeftFromRegisters, LeftFragments, Either<kIsSparse, SparseLeft<LeftTile>, LeftDescriptors<LeftTile>>>;
using LeftOperand =
    Either<kHasWeights, WeightFragments<LeftTile>, Either<kThreeProducts, SplitLeft<LeftTile>, DenseLeft>>;

using SumRegister = Either<kPackedSums, unsigned, Accumulator>;

// The products of some slabs of a step are started between these two.
__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void end_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits until no more than so many such groups of products are under way.
template <int Left>
__device__ __forceinline__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Left) : "memory");
}

// Asm, since the compiler does not move it. It would put a plain 0 among the products, which then wait for each other.
__device__ __forceinline__ void set_zero(float& sum) { asm volatile("mov.b32 %0, 0;" : "=f"(sum)); }
__device__ __forceinline__ void set_zero(int& sum) { asm volatile("mov.b32 %0, 0;" : "=r"(sum)); }
__device__ __forceinline__ void set_zero(unsigned& sum) { asm volatile("mov.b32 %0, 0;" : "=r"(sum)); }

// Where a warp's rows begin in the block's tile.
struct WarpPlace {
  int m0, n0;
  static constexpr int slice = 0;

  __device__ __forceinline__ explicit WarpPlace(int warp) {
    const int left = (kTileGroups == 1 ? 0 : warp / 4) * kGroupRows + LeftOperand::first_row(warp % 4);
    m0 = kSwap ? 0 : left;
    n0 = kSwap ? left : 0;
  }
};

template <typename Left>
class TileSums {
 public:
  // Before an item is multiplied: scales of weights, and where metadata lie in a stage.
  __device__ __forceinline__ void begin(const GemmArgs& args, const Work& work, const WarpPlace& place, int group) {
    if constexpr (kHasWeights) left_.begin(args, work.n0 + place.n0, work.k0);
    if constexpr (kIsSparse) left_.begin(args, kSwap ? work.n0 : work.m0, group);
  }

  __device__ __forceinline__ Accumulator& sum(int i, int r, int instruction, int e) {
    if constexpr (kPackedSums) {
      return reinterpret_cast<Accumulator*>(&sums_[i][2 * instruction + r])[e];
    } else {
      return reinterpret_cast<Accumulator&>(sums_[i][4 * instruction + 2 * r + e]);
    }
  }

 protected:
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (auto& of_tile : sums_) {
#pragma unroll
      for (SumRegister& sum : of_tile) set_zero(sum);
    }
  }

  Left left_;
  SumRegister sums_[kLeftTiles][kTileRegisters];
};

}  // namespace tilesmith
