// What a warpgroup multiplies: its rows of the block's tile, in instructions of 64 rows × kRightExtent columns.
//
// A stage is released one step late, when the products that read it have ended.
#pragma once

#include "kernels/shared/store/epilogue.cuh"
#include "kernels/shared/finish/pair_sums.cuh"
#include "kernels/wgmma/copy.cuh"
#include "kernels/wgmma/split_tile.cuh"

namespace tilesmith {

constexpr int kHeldRegisters =
    (kThreeProducts ? 2 : 1) * kLeftTiles * kTileRegisters;  // sums, and parts of them (split_tile.cuh)
constexpr bool kTradesRegisters = kMinBlocks == 1 && kHeldRegisters * kWarpgroups > 160;
using Trade = RegisterTrade<kTradesRegisters>;

// The block's named barriers.
enum BarrierName { kReady = 1, kRead = 2, kTurnOfFirst = 3, kTurnOfSecond = 4, kLastStep = 5 };

// Slabs whose products are started together. With words in registers it is one: a slab's are loaded while the products
// of the slab before run.
constexpr int kSlabsAtATime = kLeftFromRegisters || kHasWeights ? 1 : kSlabs;

// Defined by the text that the host puts before the template (instruction.cpp):
//   template <bool Narrow>
//   void multiply(SumRegister (&sums)[kTileRegisters], Left left, unsigned long long right, unsigned long long beyond)
//   sums ← sums + left · right, asynchronous; the operands by their descriptors (stage.cuh), or the left one by its
//   words (left_operand.cuh). beyond: of the columns from kFirstColumns on, if there are any. Narrow: of columns fewer
//   by kEvenStep, where kEven is set.
// Sparse: template <bool Narrow, int Selector>, and the word of metadata behind the operands. Of f32x3: see
// split_tile.cuh. This one is never called. It makes multiply the name of a template, of f32x3 too.
template <bool Narrow>
__device__ void multiply();

template <typename Left>
class ProductTile : public TileSums<Left> {
  using TileSums<Left>::left_;
  using TileSums<Left>::sums_;

 public:
  // Adds up the products of an item's steps, in their order. The last columns' sums of a narrow item stay zero.
  // beside(step) runs while the step's products are under way.
  template <typename Beside>
  __device__ __forceinline__ void accumulate(
      RingReader& reader, int steps, int group, bool narrow, const Beside& beside) {
    this->clear();
    if (kEven != 0 && narrow) {
      accumulate_by<true>(reader, steps, group, beside);
    } else {
      accumulate_by<false>(reader, steps, group, beside);
    }
  }

 private:
  static constexpr int kSets = Left::kSets;
  static_assert(kStagger == 0 || kSets == 1, "groups with a sparse operand do not go apart");

  template <bool Narrow, typename Beside>
  __device__ __forceinline__ void accumulate_by(RingReader& reader, int steps, int group, const Beside& beside) {
    // In items shorter than the ring the first group could be an item further before the second one waits.
    const bool staggered = kStagger > 0 && steps > kStages;
    const int apart = staggered && group == 1 ? steps - kStagger : 0;  // the second's first step after the wait
    for (int step = 0; step < steps; step += kSets) {
      if (kStagger > 0 && step == apart && step > 0) {
        wait_for_products<0>();  // all stages but those that the first group has yet to read are to be filled meanwhile
        reader.release<kSharingBlocks>();
        sync_some<kLastStep, kMultiplyingThreads>();
      }
      multiply_step<Narrow>(reader, group, step == 0 || step == apart, 0);
      beside(step);
      if constexpr (kSets == 2) {
        if (step + 1 == steps) break;
        multiply_step<Narrow>(reader, group, false, 1);
        beside(step + 1);
      }
    }
    if (staggered && group == 0) arrive_at_some<kLastStep, kMultiplyingThreads>();
    wait_for_products<0>();
    if (steps > 0) reader.release<kSharingBlocks>();
  }

  // Starts the products of a step, and releases the step before when its products have ended.
  template <bool Narrow>
  __device__ __forceinline__ void multiply_step(RingReader& reader, int group, bool first, int set) {
    left_.next_step();
    const unsigned stage = reader.wait_for_step();
    if constexpr (kIsSparse) left_.load_metadata(stage, set);
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
        for (int i = 0; i < kLeftTiles; ++i) multiply_slab<Narrow>(right, i, slab, set);
      }
      end_products();
      if (begin == 0) {
        wait_for_products<1>();
        if (!first) reader.release<kSharingBlocks>();
      }
    }
    if (kSlabsAtATime < kSlabs) wait_for_products<1>();  // the next step loads where these have read
  }

  template <bool Narrow>
  __device__ __forceinline__ void multiply_slab(const Descriptors<RightTile>& right, int i, int slab, int set) {
    const auto& left = left_.of(i, slab);
    const unsigned long long first = right.at(RightTile::offset(0, slab)),
                             beyond = right.at(RightTile::offset(kFirstColumns, slab));
    if constexpr (!kIsSparse) {
      multiply<Narrow>(sums_[i], left, first, beyond);
    } else if (kSlabsOfWord == 1 || slab % 2 == 0) {
      multiply<Narrow, 0>(sums_[i], left, first, beyond, left_.metadata(set, i, slab));
    } else {
      multiply<Narrow, 1>(sums_[i], left, first, beyond, left_.metadata(set, i, slab));
    }
  }
};

using GroupTile = Either<kThreeProducts, SplitTile<LeftOperand>, ProductTile<LeftOperand>>;

// Where the instruction leaves a warp's sums, for the epilogue: rows along the left operand's extent.
class ProductSums {
 public:
  static constexpr int kRowGroups = kLeftTiles;
  static constexpr int kColumns = kRightExtent;
  static constexpr int kRowStep = LeftOperand::kRowStep;
  static constexpr bool kInPairs = true;
  static constexpr bool kSwapped = kSwap != 0;
  static constexpr bool kRowPairs = kLeftFromRegisters;
  static constexpr int kRun = 2, kRunsPerRow = kColumns / 8;

  __device__ __forceinline__ explicit ProductSums(GroupTile& tile) : tile_(tile) {}

  static __device__ __forceinline__ int row_of(int i, int r, int g) { return LeftOperand::row(i, r, g); }
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

// The gate works on a warp's sums, unless others hold sums of the same elements.
constexpr bool kGatesSums = kIsGated && !kPartials && !kClusterSums;
using WarpSums = Either<kGatesSums && !kSwap, PairSums<ProductSums>, ProductSums>;

}  // namespace tilesmith
