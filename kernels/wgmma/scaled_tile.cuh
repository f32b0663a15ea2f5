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

// The scales of the left operand that a thread needs in a step: one for each row (i, r) of its sums, or one for each i,
// because its 64 rows begin at a multiple of 64 and so lie in one block.
template <int Kind>
class LeftScales {
  static constexpr int kOfTile = Kind == kScaledEach ? 2 : 1;

 public:
  static constexpr int kCount = kLeftTiles * kOfTile;

  // `first`: the warp's first row.
  __device__ __forceinline__ void load(const BlockScales<Kind>& scales, int first, int block) {
    const int row = first + int(threadIdx.x % 32 / 4);
#pragma unroll
    for (int i = 0; i < kLeftTiles; ++i) {
#pragma unroll
      for (int r = 0; r < kOfTile; ++r)
        values_[i][r] = scales.at(min(row + 64 * i + 8 * r, scales.extent - 1), block);
    }
  }
  __device__ __forceinline__ float at(int i, int r) const { return values_[i][Kind == kScaledEach ? r : 0]; }

 private:
  float values_[kLeftTiles][kOfTile];
};

// The scales of the right operand: one for each of a thread's columns, or one for each kColumns columns. In both cases
// a thread reads the scale of a column of its own. If all threads read one address, the compiler would move the scale to
// a uniform register as soon as it is loaded, and wait for it there.
template <int Kind>
class RightScales {
  static constexpr bool kEach = Kind == kScaledEach;
  static constexpr int kColumns = columns_of_scale(kRightExtent);

 public:
  static constexpr bool kFew = !kEach;
  static constexpr int kCount = kEach ? kRightExtent / 4 : kRightExtent / kColumns;

  // `first`: the tile's first column.
  __device__ __forceinline__ void load(const BlockScales<Kind>& scales, int first, int block) {
#pragma unroll
    for (int c = 0; c < kCount; ++c) {
      const int column = (kEach ? c / 2 * 8 + c % 2 : c * kColumns) + int(threadIdx.x % 4) * 2;
      values_[c] = scales.at(min(first + column, scales.extent - 1), block);
    }
  }
  // The scale of the thread's column `e` (0 or 1) in the run of 8 columns with this number.
  __device__ __forceinline__ float at(int run, int e) const {
    return values_[kEach ? 2 * run + e : run * 8 / kColumns];
  }

 private:
  float values_[kCount];
};

template <typename Left>
class ScaledTile : public TileSums<Left> {
  using TileSums<Left>::left_;
  using TileSums<Left>::sums_;

  static_assert(kBlockK == kScaleBlock && LeftTile::kKMajor && RightTile::kKMajor && !kIsSparse);
  static constexpr int kLeftKind = kSwap ? kBlockScaleN : kBlockScaleM;
  static constexpr int kRightKind = kSwap ? kBlockScaleM : kBlockScaleN;

  struct Scales {
    LeftScales<kLeftKind> left;
    RightScales<kRightKind> right;
  };
  static constexpr int kAhead =
      steps_of_scales(LeftScales<kLeftKind>::kCount + RightScales<kRightKind>::kCount, kLeftTiles * kTileRegisters);
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
    const int left0 = kSwap ? work.n0 + place.n0 : work.m0 + place.m0, right0 = kSwap ? work.m0 : work.n0;
    BlocksOfItem blocks(work, backwards);
    Scales coming[kAhead];
    const auto load = [&](Scales& scales) {
      scales.left.load(of_left, left0, blocks.block);
      scales.right.load(of_right, right0, blocks.block);
      blocks.block += blocks.step;
    };
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      if (u < steps) load(coming[u]);
    }
    start<0>(reader.wait_for_step(), group);
    // Whole rounds and the rest are apart: the compiler lets products run only over branches that are always taken.
    int first = 0;
    for (; first + kAhead < steps; first += kAhead) round<0>(reader, group, coming, load, first, steps);
    rest<0>(reader, group, coming, first, steps);
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
  __device__ __forceinline__ void end_step(RingReader& reader, int group, const Scales (&coming)[kAhead]) {
    if constexpr (!Last) start<(U + 1) % 2>(reader.wait_for_step(), group);
    wait_for_products<(Last ? 0 : 1)>();
    reader.release<kSharingBlocks>();
    add<U % 2>(coming[U]);
  }

  // Templates, not loops: a part that is not known when the compiler reads this would lie in memory.
  template <int U, typename Load>
  __device__ __forceinline__ void round(
      RingReader& reader, int group, Scales (&coming)[kAhead], const Load& load, int first, int steps) {
    end_step<U, false>(reader, group, coming);
    if (first + U + kAhead < steps) load(coming[U]);
    if constexpr (U + 1 < kAhead) round<U + 1>(reader, group, coming, load, first, steps);
  }
  template <int U>
  __device__ __forceinline__ void rest(
      RingReader& reader, int group, const Scales (&coming)[kAhead], int first, int steps) {
    if (U + 1 == kAhead || first + U + 1 == steps) {
      end_step<U, true>(reader, group, coming);
    } else if constexpr (U + 1 < kAhead) {
      end_step<U, false>(reader, group, coming);
      rest<U + 1>(reader, group, coming, first, steps);
    }
  }

  // sums += part · scales.
  template <int From>
  __device__ __forceinline__ void add(const Scales& scales) {
#pragma unroll
    for (int i = 0; i < kLeftTiles; ++i) {
#pragma unroll
      for (int s = 0; s < kTileRegisters; ++s) {
        const int run = s / 4, r = s / 2 % 2, e = s % 2;
        float& part = part_[From][i][s];
        asm volatile("" : "+f"(part)::"memory");  // not before the products have ended
        if constexpr (RightScales<kRightKind>::kFew) {
          sums_[i][s] += part * (scales.left.at(i, r) * scales.right.at(run, e));
        } else {
          sums_[i][s] += part * scales.left.at(i, r) * scales.right.at(run, e);
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
