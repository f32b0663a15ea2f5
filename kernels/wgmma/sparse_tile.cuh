// What a warpgroup multiplies where its left operand is 2:4 sparse: as group_tile.cuh says, with metadata in registers.
//
// A lane's word of metadata serves the instructions of a block of 16 groups along K. Those are two of 2- and 4-byte elements, told apart by the
// selector, or one of bytes. The words of a step are loaded from its stage while the products of the step before run, so two sets take turns.
#pragma once

namespace tilesmith {

// Defined by the text that the host puts before the template (instruction.cpp):
//   template <bool Narrow, int Selector>
//   void multiply(SumRegister (&sums)[kTileRegisters], unsigned long long left, unsigned long long right, unsigned long long beyond, unsigned metadata)

class GroupTile {
 public:
  // Before accumulate(): the first row, along the left operand's extent, of the block's tile.
  __device__ __forceinline__ void begin(const SparseArgs& args, int left0, int group) {
    const MetadataRows rows(args, left0);
    row_blocks_ = rows.count;
    constexpr int kRowBlocks = kGroupRows / kMetadataRows;
    first_ = rows.skipped + group * kRowBlocks + int(threadIdx.x / 32 % 4);
  }

#ifdef TILESMITH_EPILOGUE
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
    const auto nothing = [](int) {};
    clear();
    if (kEven != 0 && narrow) {
      accumulate_by<true>(reader, steps, group, nothing);
    } else {
      accumulate_by<false>(reader, steps, group, nothing);
    }
  }
#endif

  __device__ __forceinline__ Accumulator& sum(int i, int r, int instruction, int e) {
    if constexpr (kPackedSums) {
      return reinterpret_cast<Accumulator*>(&sums_[i][2 * instruction + r])[e];
    } else {
      return reinterpret_cast<Accumulator&>(sums_[i][4 * instruction + 2 * r + e]);
    }
  }

 private:
  static_assert(kStagger == 0, "of sparse operands groups do not go apart");

  using Words = unsigned[kLeftTiles][kMetadataSteps];

  template <bool Narrow, typename Beside>
  __device__ __forceinline__ void accumulate_by(RingReader& reader, int steps, int group, const Beside& beside) {
    Words even, odd;
    for (int step = 0; step < steps; step += 2) {
      multiply_step<Narrow>(reader, group, step == 0, even);
      beside(step);
      if (step + 1 == steps) break;
      multiply_step<Narrow>(reader, group, false, odd);
      beside(step + 1);
    }
    wait_for_products<0>();
    if (steps > 0) reader.release<kSharingBlocks>();
  }

  template <bool Narrow>
  __device__ __forceinline__ void multiply_step(RingReader& reader, int group, bool first, Words& words) {
    const unsigned stage = reader.wait_for_step();
    load(words, stage + unsigned(kMetadataAt));
    left_.load(stage, group, 0);
    const Descriptors<RightTile> right(stage + LeftTile::kBytes);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    multiply_slabs<Narrow, 0>(right, words);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    wait_for_products<1>();
    if (!first) reader.release<kSharingBlocks>();
  }

  template <bool Narrow, int Slab>
  __device__ __forceinline__ void multiply_slabs(const Descriptors<RightTile>& right, const Words& words) {
    if constexpr (Slab < kSlabs) {
#pragma unroll
      for (int i = 0; i < kLeftTiles; ++i) {
        multiply<Narrow, Slab % kSlabsOfWord>(sums_[i], left_.of(i, Slab), right.at(RightTile::offset(0, Slab)),
                                              right.at(RightTile::offset(kFirstColumns, Slab)), words[i][Slab / kSlabsOfWord]);
      }
      multiply_slabs<Narrow, Slab + 1>(right, words);
    }
  }

  // Rows behind the matrix' last 16 have no metadata, and are zeros: any will do.
  __device__ __forceinline__ void load(Words& words, unsigned at) const {
#pragma unroll
    for (int i = 0; i < kLeftTiles; ++i) {
      const int row_block = min(first_ + i * (64 / kMetadataRows), row_blocks_ - 1);
#pragma unroll
      for (int k = 0; k < kMetadataSteps; ++k) {
        const unsigned from = at + unsigned((k * row_blocks_ + row_block) * kMetadataWords + int(threadIdx.x % 32)) * 4;
        asm volatile("ld.shared.b32 %0, [%1];" : "=r"(words[i][k]) : "r"(from) : "memory");
      }
    }
  }

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (auto& of_tile : sums_) {
#pragma unroll
      for (SumRegister& sum : of_tile) set_zero(sum);
    }
  }
  template <int Left>
  static __device__ __forceinline__ void wait_for_products() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Left) : "memory");
  }

  LeftOperand left_;
  int first_, row_blocks_;  // of metadata: the warp's first block of rows in a stage, and how many a stage has
  SumRegister sums_[kLeftTiles][kTileRegisters];
};

}  // namespace tilesmith
