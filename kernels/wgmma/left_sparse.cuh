// A 2:4 sparse left operand: its stored elements by descriptors, and its metadata in registers.
//
// A lane's word of metadata serves the instructions of a block of 16 groups along K. Of 2- and 4-byte elements these
// are two, told apart by the instruction's selector; of bytes it is one. The words of a step are loaded while the
// products of the step before still read theirs, so two sets take turns.
#pragma once

#include "kernels/wgmma/left_operand.cuh"

namespace tilesmith {

template <typename Tile>
class SparseLeft : public LeftDescriptors<Tile> {
 public:
  static constexpr int kSets = 2;

  // Before the steps of an item. left0: the first row, along the left operand's extent, of the block's tile.
  __device__ __forceinline__ void begin(const GemmArgs& args, int left0, int group) {
    const TileMetadata blocks(sparse_of(args), left0);
    row_blocks_ = blocks.count;
    first_ = blocks.skipped + group * (kGroupRows / kMetadataRows) + int(threadIdx.x / 32 % 4);
  }

  // Rows beyond the matrix have no metadata and are zeros, so any metadata will do.
  __device__ __forceinline__ void load_metadata(unsigned stage, int set) {
    const unsigned at = stage + unsigned(kMetadataAt);
#pragma unroll
    for (int i = 0; i < kLeftTiles; ++i) {
      const int row_block = min(first_ + i * (64 / kMetadataRows), row_blocks_ - 1);
#pragma unroll
      for (int k = 0; k < kMetadataSteps; ++k) {
        const unsigned from = at + unsigned((k * row_blocks_ + row_block) * kMetadataWords + int(threadIdx.x % 32)) * 4;
        asm volatile("ld.shared.b32 %0, [%1];" : "=r"(words_[set][i][k]) : "r"(from) : "memory");
      }
    }
  }

  __device__ __forceinline__ unsigned metadata(int set, int i, int slab) const {
    return words_[set][i][slab / kSlabsOfWord];
  }

 private:
  int first_, row_blocks_;  // the warp's first block of rows in a stage, and how many a stage has
  unsigned words_[kSets][kLeftTiles][kMetadataSteps];
};

}  // namespace tilesmith
