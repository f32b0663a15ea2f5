// What a warpgroup multiplies of operands with scales of blocks of K (kernels/shared/multiply/block_scales.cuh): a step
// is a block of K.
//
//   part   the products of a step                    tensor cores, from zero
//   sums   += part · left scale · right scale        CUDA cores, in f32
//
// There are two parts. The products of a step run while those of the step before are added, so that the tensor cores
// wait neither for the additions nor for a step's barrier. A step's scales are loaded kAhead steps before, because a
// load from the L2 takes as long as a step or longer.
#pragma once

#include "kernels/shared/finish/gate.cuh"
#include "kernels/shared/finish/paired_columns.cuh"
#include "kernels/shared/multiply/block_scales.cuh"
#include "kernels/wgmma/copy.cuh"
#include "kernels/wgmma/scale_counts.cuh"
#include "kernels/wgmma/tile_sums.cuh"

namespace tilesmith {

// Defined by the text that the host puts before the template (instruction.cpp):
//   void multiply(float (&part)[kTileRegisters], unsigned long long left, unsigned long long right, int adds)
//   part ← left · right, or part + left · right where `adds` is not 0, asynchronous.

// The blocks of K of an item's steps, in the order in which they are copied (Tiles::at in copy.cuh).
struct BlocksOfItem {
  int block, step;

  __device__ __forceinline__ BlocksOfItem(const ItemWork& work, bool backwards)
      : block(work.k0 / kScaleBlock), step(kSplitK) {
    if (!backwards) return;
    block += (work.steps() - 1) * kSplitK;
    step = -kSplitK;
  }
};

// Where the column of a number in the order in which B's are multiplied lies in the product: elsewhere where columns are
// gated (shared/finish/paired_columns.cuh).
__device__ __forceinline__ int column_of_product(int number, int n) {
  if constexpr (!kIsGated) return number;
  const int pair = number / kPairedStep * kPairedRun + number % kPairedRun;
  return number / kPairedRun % 2 == 0 ? column_of_x(pair) : column_of_y(pair, n);
}

// The scales of the left operand that a thread needs in a step: one for each row (i, r) of its sums, or one for each i,
// because its 64 rows begin at a multiple of 64 and so lie in one block. If columns are gated, 8 rows are x and the next
// 8 are y.
template <int Kind, bool IsB>
class LeftScales {
  static constexpr int kOfTile = Kind == kScaledEach || (IsB && kIsGated) ? 2 : 1;

 public:
  static constexpr int kCount = kLeftTiles * kOfTile;

  // `first`: the warp's first row.
  __device__ __forceinline__ void load(const BlockScales<Kind>& scales, int first, int block) {
    const int row = first + int(threadIdx.x % 32 / 4);
#pragma unroll
    for (int i = 0; i < kLeftTiles; ++i) {
#pragma unroll
      for (int r = 0; r < kOfTile; ++r) {
        const int of_tile = row + 64 * i + 8 * r, at = IsB ? column_of_product(of_tile, scales.extent) : of_tile;
        values_[i][r] = scales.at(min(at, scales.extent - 1), block);
      }
    }
  }
  __device__ __forceinline__ float at(int i, int r) const { return values_[i][kOfTile == 2 ? r : 0]; }

 private:
  float values_[kLeftTiles][kOfTile];
};

// The scales of the right operand: one for each of a thread's columns, or one for each kColumns columns. In both cases
// a thread reads the scale of a column of its own. If all threads read one address, the compiler would move the scale to
// a uniform register as soon as it is loaded, and wait for it there.
template <int Kind, bool IsB>
class RightScales {
  static constexpr bool kEach = Kind == kScaledEach;
  static constexpr int kColumns = columns_of_scale(kRightExtent);

 public:
  static constexpr bool kFew = !kEach;
  static constexpr int kCount = kEach ? kRightExtent / 4 : kRightExtent / kColumns;

  // What an item's steps have in common.
  struct Item {
    int first;  // column of the tile

    __device__ __forceinline__ Item(int first, int) : first(first) {}
  };

  __device__ __forceinline__ void load(const BlockScales<Kind>& scales, const Item& item, int block) {
#pragma unroll
    for (int c = 0; c < kCount; ++c) {
      const int column = item.first + (kEach ? c / 2 * 8 + c % 2 : c * kColumns) + int(threadIdx.x % 4) * 2;
      const int at = IsB ? column_of_product(column, scales.extent) : column;
      values_[c] = scales.at(min(at, scales.extent - 1), block);
    }
  }
  // The scale of the thread's column `e` (0 or 1) in the run of 8 columns with this number.
  __device__ __forceinline__ float at(const Item&, int run, int e) const {
    return values_[kEach ? 2 * run + e : run * 8 / kColumns];
  }

 private:
  float values_[kCount];
};

// Gated columns whose blocks have a scale. Of kColumns the half are x, which lie in one block, and the half y. These
// may begin anywhere in a block, and end in the next one.
class PairScales {
  static constexpr int kColumns = columns_of_scale(kRightExtent), kChunks = kRightExtent / kColumns,
                       kPairs = kColumns / 2;
  static_assert(!kIsGated || kSwap || kColumns % kPairedStep == 0);

 public:
  static constexpr bool kFew = true;
  static constexpr int kCount = kChunks * kPairScales;

  struct Item {
    int x[kChunks], y[kChunks];  // where the first pairs lie in the product
    int in_first[kChunks];       // pairs, from the thread's first on, whose y is in the first one's block

    __device__ __forceinline__ Item(int first, int n) {
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        x[c] = column_of_product(first + c * kColumns, n);
        y[c] = column_of_product(first + c * kColumns + kPairedRun, n);
        in_first[c] = pairs_in_block(y[c]) - int(threadIdx.x % 4) * 2;
      }
    }
    // Neighbouring pairs' columns are neighbours, or every other one.
    static __device__ __forceinline__ int pairs_in_block(int column) {
      return (kScaleBlock - column % kScaleBlock + kStep - 1) / kStep;
    }
  };

  // As RightScales does, a thread reads by columns of its own.
  __device__ __forceinline__ void load(const BlockScales<kScaledBlocks>& scales, const Item& item, int block) {
    const int own = int(threadIdx.x % 4) * 2;
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      const int in_first = item.in_first[c] + own;
      const auto at = [&](int column) { return scales.at(min(column, scales.extent - 1), block); };
      values_[c][0] = at(item.x[c] + kStep * own);
      values_[c][1] = at(item.y[c] + kStep * min(own, in_first - 1));
      values_[c][2] = at(item.y[c] + kStep * max(kPairs - 1 - own, min(in_first, kPairs - 1)));
    }
  }
  __device__ __forceinline__ float at(const Item& item, int run, int e) const {
    const int c = run * 8 / kColumns, pair = run * 8 % kColumns / kPairedStep * kPairedRun + e;
    return run % 2 == 0 ? values_[c][0] : pair < item.in_first[c] ? values_[c][1] : values_[c][2];
  }

 private:
  static constexpr int kStep = kGateInterleaved ? 2 : 1;
  float values_[kChunks][kPairScales];
};

template <typename Left>
class ScaledTile : public TileSums<Left> {
  using TileSums<Left>::left_;
  using TileSums<Left>::sums_;

  static_assert(kBlockK == kScaleBlock && LeftTile::kKMajor && RightTile::kKMajor && !kIsSparse);
  static constexpr int kLeftKind = kSwap ? kBlockScaleN : kBlockScaleM;
  static constexpr int kRightKind = kSwap ? kBlockScaleM : kBlockScaleN;

  using OfLeft = LeftScales<kLeftKind, kSwap != 0>;
  using OfRight =
      Either<kIsGated && !kSwap && kRightKind == kScaledBlocks, PairScales, RightScales<kRightKind, kSwap == 0>>;
  struct Scales {
    OfLeft left;
    OfRight right;
  };
  static constexpr int kAhead = steps_of_scales(OfLeft::kCount + OfRight::kCount, kLeftTiles * kTileRegisters);
  using RightItem = typename OfRight::Item;
  static_assert(kAhead % 2 == 0, "parts alternate over the end of a round");

 public:
  // Adds up the steps of an item, in the order in which they are copied.
  __device__ __forceinline__ void accumulate(RingReader& reader, const GemmArgs& all, const ItemWork& work,
                                             const WarpPlace& place, int group, bool backwards) {
    clear();
    const int steps = work.steps();
    if (steps == 0) return;
    const int of_a = all.stride_a == 0 ? 0 : int(work.entry);  // which matrix
    const int of_b = all.stride_b == 0 ? 0 : int(work.entry);
    const BlockScales<kLeftKind> of_left(
        kSwap ? all.scale_n : all.scale_m, kSwap ? all.n : all.m, all.k, kSwap ? of_b : of_a);
    const BlockScales<kRightKind> of_right(
        kSwap ? all.scale_m : all.scale_n, kSwap ? all.m : all.n, all.k, kSwap ? of_a : of_b);
    const int left0 = kSwap ? work.n0 + place.n0 : work.m0 + place.m0;
    const RightItem item(kSwap ? work.m0 : work.n0, all.n);
    BlocksOfItem blocks(work, backwards);
    Scales coming[kAhead];
    const auto load = [&](Scales& scales) {
      scales.left.load(of_left, left0, blocks.block);
      scales.right.load(of_right, item, blocks.block);
      blocks.block += blocks.step;
    };
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      if (u < steps) load(coming[u]);
    }
    start<0>(reader.wait_for_step(), group);
    // Whole rounds and the rest are apart: the compiler lets products run only over branches that are always taken.
    int first = 0;
    for (; first + kAhead < steps; first += kAhead) round<0>(reader, group, coming, item, load, first, steps);
    rest<0>(reader, group, coming, item, first, steps);
  }

 private:
  // part ← left · right, asynchronous.
  template <int Into>
  __device__ __forceinline__ void start(unsigned stage, int group) {
    left_.load(stage, group, 0);
    const Descriptors<RightTile> right(stage + LeftTile::kBytes);
    begin_products();
#pragma unroll
    for (int slab = 0; slab < kSlabs; ++slab) {
#pragma unroll
      for (int i = 0; i < kLeftTiles; ++i)
        multiply(part_[Into][i], left_.of(i, slab), right.at(RightTile::offset(0, slab)), slab > 0);
    }
    end_products();
  }

  // Ends step U of a round, while the next one's products run.
  template <int U, bool Last>
  __device__ __forceinline__ void end_step(
      RingReader& reader, int group, const Scales (&coming)[kAhead], const RightItem& item) {
    if constexpr (!Last) start<(U + 1) % 2>(reader.wait_for_step(), group);
    wait_for_products<(Last ? 0 : 1)>();
    reader.release<kSharingBlocks>();
    add<U % 2>(coming[U], item);
  }

  // Templates, not loops: a part that is not known when the compiler reads this would lie in memory.
  template <int U, typename Load>
  __device__ __forceinline__ void round(
      RingReader& reader, int group, Scales (&coming)[kAhead], const RightItem& item, const Load& load, int first,
      int steps) {
    end_step<U, false>(reader, group, coming, item);
    if (first + U + kAhead < steps) load(coming[U]);
    if constexpr (U + 1 < kAhead) round<U + 1>(reader, group, coming, item, load, first, steps);
  }
  template <int U>
  __device__ __forceinline__ void rest(
      RingReader& reader, int group, const Scales (&coming)[kAhead], const RightItem& item, int first, int steps) {
    if (U + 1 == kAhead || first + U + 1 == steps) {
      end_step<U, true>(reader, group, coming, item);
    } else if constexpr (U + 1 < kAhead) {
      end_step<U, false>(reader, group, coming, item);
      rest<U + 1>(reader, group, coming, item, first, steps);
    }
  }

  // sums += part · scales.
  template <int From>
  __device__ __forceinline__ void add(const Scales& scales, const RightItem& item) {
#pragma unroll
    for (int i = 0; i < kLeftTiles; ++i) {
#pragma unroll
      for (int s = 0; s < kTileRegisters; ++s) {
        const int run = s / 4, r = s / 2 % 2, e = s % 2;
        float& part = part_[From][i][s];
        asm volatile("" : "+f"(part)::"memory");  // not before the products have ended
        if constexpr (OfRight::kFew) {
          sums_[i][s] += part * (scales.left.at(i, r) * scales.right.at(item, run, e));
        } else {
          sums_[i][s] += part * scales.left.at(i, r) * scales.right.at(item, run, e);
        }
      }
    }
  }

  // Here the compiler may move the zeros: no product waits for the sums.
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (auto& of_tile : sums_) {
#pragma unroll
      for (float& sum : of_tile) sum = 0;
    }
  }

  float part_[2][kLeftTiles][kTileRegisters];
};

}  // namespace tilesmith
