// What a warpgroup multiplies of f32x3: as group_tile.cuh says, with three products for one.
//
// A tensor core truncates as it adds, always towards zero, so that the error of a long sum grows with its length. The
// products of kPromote K-steps are therefore added up from zero, and then rounded to nearest into the sums, by FADD:
// one group does this while the other multiplies.
//
//   part   small·big + big·small + big·big, slab by slab    tensor cores, truncated
//   sums   ← sums + part, each kPromote steps               CUDA cores, rounded to nearest
#pragma once

#include "kernels/wgmma/tile_sums.cuh"

namespace tilesmith {

// Defined by the text that the host puts before the template (instruction.cpp):
//   void multiply(float (&part)[kTileRegisters], const unsigned (&left)[4], unsigned long long right, int adds)
//   part ← left · right, or part + left · right where `adds` is not 0, asynchronous.

template <typename Left>
class SplitTile : public TileSums<Left> {
  using TileSums<Left>::left_;
  using TileSums<Left>::sums_;

 public:
  // Of the steps of an item, in their order.
  template <typename Beside>
  __device__ __forceinline__ void accumulate(RingReader& reader, int steps, int group, bool, const Beside& beside) {
    clear();
    if (steps == 0) return;
    unsigned stage = reader.wait_for_step();
    left_.load(stage, group, 0);
    for (int step = 0, of_part = 0; step < steps; ++step) {
      const bool last = step + 1 == steps, begins = of_part == 0, ends = of_part + 1 == kPromote || last;
      const Descriptors<RightTile> right(stage + LeftTile::kBytes);
      unsigned next = stage;
#pragma unroll
      for (int slab = 0; slab < kSlabs; ++slab) {
        multiply_slab(right, slab, slab > 0 || !begins);
        wait_for_products<1>();  // those of the slab before, whose words' place is loaded into
        if (slab == 0 && !begins) reader.release<kSharingBlocks>();
        if (slab + 1 < kSlabs) {
          left_.load(stage, group, slab + 1);
        } else if (!last) {
          next = reader.wait_for_step();
          left_.load(next, group, 0);
        }
      }
      if (ends) {
        wait_for_products<0>();
        reader.release<kSharingBlocks>();
        promote();
      }
      beside(step);
      of_part = ends ? 0 : of_part + 1;
      stage = next;
    }
  }

 private:
  __device__ __forceinline__ void multiply_slab(const Descriptors<RightTile>& right, int slab, bool adds) {
    const unsigned long long big = right.at(RightTile::offset(0, slab, 0)),
                             small = right.at(RightTile::offset(0, slab, 1));
    begin_products();
#pragma unroll
    for (int i = 0; i < kLeftTiles; ++i) multiply(part_[i], left_.small(i, slab), big, adds);
#pragma unroll
    for (int i = 0; i < kLeftTiles; ++i) multiply(part_[i], left_.big(i, slab), small, 1);
#pragma unroll
    for (int i = 0; i < kLeftTiles; ++i) multiply(part_[i], left_.big(i, slab), big, 1);
    end_products();
  }

  __device__ __forceinline__ void promote() {
#pragma unroll
    for (int i = 0; i < kLeftTiles; ++i) {
#pragma unroll
      for (int s = 0; s < kTileRegisters; ++s) {
        asm volatile("" : "+f"(part_[i][s])::"memory");  // not before the products have ended
        sums_[i][s] += part_[i][s];
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

  float part_[kLeftTiles][kTileRegisters];
};

}  // namespace tilesmith
