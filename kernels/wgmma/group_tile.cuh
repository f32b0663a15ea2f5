// What a warpgroup multiplies: its rows of the block's tile, in instructions of 64 rows × kRightExtent columns.
//
// The instruction runs by itself once it is issued: its sums may be touched only after they were waited for, and a stage is
// released one step late, when the products that read it have ended.
#pragma once

#include "kernels/tensor_core/epilogue.cuh"
#include "kernels/wgmma/copy.cuh"
// It wants to know how a stage lies (stage.cuh).
#ifdef TILESMITH_WEIGHTS
#include "kernels/wgmma/left_weights.cuh"
#else
#include "kernels/wgmma/left_operand.cuh"
#endif
#ifdef TILESMITH_GATED
#include "kernels/tensor_core/pair_sums.cuh"
#endif
#ifdef TILESMITH_THREE_PRODUCTS
#include "kernels/wgmma/left_split.cuh"
#include "kernels/wgmma/split_tile.cuh"
#endif

namespace tilesmith {

using SumRegister = Either<kPackedSums, unsigned, Accumulator>;

// Defined by the text that the host puts before the template (instruction.cpp):
//   template <bool Narrow>
//   void multiply(SumRegister (&sums)[kTileRegisters], Left left, unsigned long long right, unsigned long long beyond)
//   sums ← sums + left · right, asynchronous; the operands by their descriptors (stage.cuh), or the left one by its words
//   (left_operand.cuh). beyond: of the columns from kFirstColumns on, if there are any.
//   Narrow: of columns fewer by kEvenStep, where kEven is set.

// In a way that the compiler does not move: a plain 0 it would put among the products, which then wait for each other.
__device__ __forceinline__ void set_zero(float& sum) { asm volatile("mov.b32 %0, 0;" : "=f"(sum)); }
__device__ __forceinline__ void set_zero(int& sum) { asm volatile("mov.b32 %0, 0;" : "=r"(sum)); }
__device__ __forceinline__ void set_zero(unsigned& sum) { asm volatile("mov.b32 %0, 0;" : "=r"(sum)); }

// The block's named barriers.
enum BarrierName { kReady = 1, kRead = 2, kTurnOfFirst = 3, kTurnOfSecond = 4, kLastStep = 5 };

#ifdef TILESMITH_SPARSE
}  // namespace tilesmith

#include "kernels/wgmma/sparse_tile.cuh"

namespace tilesmith {
#else
#ifndef TILESMITH_THREE_PRODUCTS
class GroupTile {
 public:
  // Of the steps of an item, in their order. Of a narrow one the last columns' sums stay zero.
#ifdef TILESMITH_EPILOGUE
  // beside(step) is done while the step's products are under way.
  template <typename Beside>
  __device__ __forceinline__ void accumulate(RingReader& reader, int steps, int group, bool narrow, Beside beside) {
    clear();
    if (kEven != 0 && narrow) {
      accumulate_by<true>(reader, steps, group, beside);
    } else {
      accumulate_by<false>(reader, steps, group, beside);
    }
  }
#else
  __device__ __forceinline__ void accumulate(RingReader& reader, int steps, int group, bool narrow) {
    clear();
    if (kEven != 0 && narrow) {
      accumulate_by<true>(reader, steps, group);
    } else {
      accumulate_by<false>(reader, steps, group);
    }
  }
#endif

#ifdef TILESMITH_WEIGHTS
  // Before accumulate(): see WeightFragments.
  __device__ __forceinline__ void begin_weights(const GemmArgs& args, int row, int k) { left_.begin(args, row, k); }
#endif

  __device__ __forceinline__ Accumulator& sum(int i, int r, int instruction, int e) {
    if constexpr (kPackedSums) {
      return reinterpret_cast<Accumulator*>(&sums_[i][2 * instruction + r])[e];
    } else {
      return reinterpret_cast<Accumulator&>(sums_[i][4 * instruction + 2 * r + e]);
    }
  }

 private:
#ifdef TILESMITH_EPILOGUE
  template <bool Narrow, typename Beside>
  __device__ __forceinline__ void accumulate_by(RingReader& reader, int steps, int group, const Beside& beside) {
#else
  template <bool Narrow>
  __device__ __forceinline__ void accumulate_by(RingReader& reader, int steps, int group) {
#endif
    // In items shorter than the ring the first group could be an item further before the second one waits.
    const bool staggered = kStagger > 0 && steps > kStages;
    const int apart = staggered && group == 1 ? steps - kStagger : 0;  // the second's first step after the wait
    for (int step = 0; step < steps; ++step) {
      if (kStagger > 0 && step == apart && step > 0) {
        wait_for_products<0>();  // all stages but those that the first group has yet to read are to be filled meanwhile
        reader.release<kSharingBlocks>();
        sync_some<kLastStep, kMultiplyingThreads>();
      }
      multiply_step<Narrow>(reader, group, step == 0 || step == apart);
#ifdef TILESMITH_EPILOGUE
      beside(step);
#endif
    }
    if (staggered && group == 0) arrive_at_some<kLastStep, kMultiplyingThreads>();
    wait_for_products<0>();
    if (steps > 0) reader.release<kSharingBlocks>();
  }

  // Starts the products of a step, and releases the step before when its products have ended.
  template <bool Narrow>
  __device__ __forceinline__ void multiply_step(RingReader& reader, int group, bool first) {
#ifdef TILESMITH_WEIGHTS
    left_.next_step();
#endif
    const unsigned stage = reader.wait_for_step();
    left_.load(stage, group, 0);
    const Descriptors<RightTile> right(stage + LeftTile::kBytes);
#pragma unroll
    for (int begin = 0; begin < kSlabs; begin += kSlabsAtATime) {
      const int end = begin + kSlabsAtATime;
      if (end < kSlabs) left_.load(stage, group, end);
      begin_products();
#pragma unroll
      for (int slab = begin; slab < end; ++slab) {
#pragma unroll
        for (int i = 0; i < kLeftTiles; ++i) {
          multiply<Narrow>(sums_[i], left_.of(i, slab), right.at(RightTile::offset(0, slab)),
                           right.at(RightTile::offset(kFirstColumns, slab)));
        }
      }
      end_products();
      if (begin == 0) {
        wait_for_products<1>();
        if (!first) reader.release<kSharingBlocks>();
      }
    }
    if (kSlabsAtATime < kSlabs) wait_for_products<1>();  // the next step loads where these have read
  }

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (auto& of_tile : sums_) {
#pragma unroll
      for (SumRegister& sum : of_tile) set_zero(sum);
    }
  }
  static __device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
  static __device__ __forceinline__ void end_products() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }
  // Until at most so many steps' products are under way.
  template <int Left>
  static __device__ __forceinline__ void wait_for_products() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Left) : "memory");
  }

  LeftOperand left_;
  SumRegister sums_[kLeftTiles][kTileRegisters];
};
#endif
#endif

// Where the instruction leaves a warp's sums, for the epilogue: rows along the left operand's extent.
#ifdef TILESMITH_GATED
class ProductSums {
#else
class WarpSums {
#endif
 public:
  static constexpr int kRowGroups = kLeftTiles;
  static constexpr int kColumns = kRightExtent;
#ifdef TILESMITH_WEIGHTS
  static constexpr int kRowStep = 1;
#else
  static constexpr int kRowStep = kLeftFromRegisters ? LeftFragments::kRowStep : 1;
#endif
  static constexpr bool kInPairs = true;
  static constexpr bool kSwapped = kSwap != 0;
  static constexpr bool kRowPairs = kLeftFromRegisters;
  static constexpr int kRun = 2, kRunsPerRow = kColumns / 8;

#ifdef TILESMITH_GATED
  __device__ __forceinline__ explicit ProductSums(GroupTile& tile) : tile_(tile) {}
#else
  __device__ __forceinline__ explicit WarpSums(GroupTile& tile) : tile_(tile) {}
#endif

  static __device__ __forceinline__ int row_of(int i, int r, int g) {
#ifdef TILESMITH_WEIGHTS
    return 64 * i + 8 * r + g;
#else
    return kLeftFromRegisters ? LeftFragments::row(i, r, g) : 64 * i + 8 * r + g;
#endif
  }
  static __device__ __forceinline__ int row(int i, int r) { return row_of(i, r, int(threadIdx.x % 32 / 4)); }

  static __device__ __forceinline__ int first_column() { return 2 * int(threadIdx.x % 4); }
  static __device__ __forceinline__ constexpr int offset(int run) { return 8 * run; }
  __device__ __forceinline__ Accumulator sum(int i, int r, int run, int e) const { return tile_.sum(i, r, run, e); }
  __device__ __forceinline__ void get(int i, int r, int run, Accumulator (&sums)[kRun]) const {
#pragma unroll
    for (int e = 0; e < kRun; ++e) sums[e] = tile_.sum(i, r, run, e);
  }
  __device__ __forceinline__ void set(int i, int r, int run, const Accumulator (&sums)[kRun]) {
#pragma unroll
    for (int e = 0; e < kRun; ++e) tile_.sum(i, r, run, e) = sums[e];
  }

 private:
  GroupTile& tile_;
};

#ifdef TILESMITH_GATED
// The gate works on a warp's sums, unless others hold sums of the same elements.
constexpr bool kGatesSums = !kPartials && !kClusterSums;
using WarpSums = Either<kGatesSums && !kSwap, PairSums<ProductSums>, ProductSums>;
#endif

// Where a warp's rows begin in the block's tile.
struct WarpPlace {
  int m0, n0;
  static constexpr int slice = 0;

  __device__ __forceinline__ explicit WarpPlace(int warp) {
#ifdef TILESMITH_WEIGHTS
    const int left = (kTileGroups == 1 ? 0 : warp / 4) * kGroupRows + warp % 4 * 16;
#else
    const int left = (kTileGroups == 1 ? 0 : warp / 4) * kGroupRows +
                     (kLeftFromRegisters ? LeftFragments::first_row(warp % 4) : warp % 4 * 16);
#endif
    m0 = kSwap ? 0 : left;
    n0 = kSwap ? left : 0;
  }
};

}  // namespace tilesmith
