// How a stage of the family `wgmma` lies in shared memory where the left operand is 2:4 sparse: half its elements along K, and metadata.
//
//   ┌──────────────────────┬──────────────────────────┬──────────────────┐
//   │ left: kBlockK / 2    │ right: kBlockK           │ metadata         │    of metadata a block of 16 rows × 16 groups is
//   │ rows of 64 or 128    │ as of dense operands     │ [k][row / 16][32]│    128 bytes, a lane's word each
//   └──────────────────────┴──────────────────────────┴──────────────────┘
//
// An instruction takes 32 bytes of a stored row and 64 of a dense one.
#pragma once

#include "kernels/common/sparse_args.cuh"

namespace tilesmith {

constexpr int kSlabK = 64 / kElementBytes;  // elements of K of an instruction
constexpr int kSlabs = kBlockK / kSlabK;
static_assert(kSparseB == (kSwap != 0), "the sparse operand is the left one");

// The dense operand.
template <int Extent, bool KMajor, int Sharers>
struct OperandTile {
  static constexpr bool kKMajor = KMajor;
  static constexpr int kRowBytes = kPanelRowBytes;
  static constexpr int kRows = KMajor ? Extent : kBlockK;  // of a panel
  static constexpr int kCols = KMajor ? kBlockK : Extent;
  static constexpr int kPanels = (kCols + kPanelElements - 1) / kPanelElements;
  static constexpr int kPanelCols = kPanelElements;
  static constexpr int kPanelBytes = kRows * kPanelRowBytes;
  static constexpr int kBytes = kPanels * kPanelBytes;
  static constexpr int kCopiedRows = kRows / Sharers;  // of each panel, by one block
  static_assert(!KMajor || kCols % kPanelElements == 0, "a K-step must split into whole panels");
  static_assert(kRows % kSwizzledRows == 0 && kRows % Sharers == 0, "panels must be whole swizzled groups of rows, in equal parts");
  static_assert(kCopiedRows <= 256, "a box has no more rows");

  static constexpr unsigned long long kDescriptor = 1ull << 62 |
                                                    (unsigned long long)(kSwizzledRows * kPanelRowBytes >> 4) << 32 |
                                                    (unsigned long long)(KMajor ? 1 : kPanelBytes >> 4) << 16;

  static __device__ __forceinline__ constexpr unsigned offset(int row, int slab) {
    if (KMajor) {
      constexpr int kSlabsOfPanel = kPanelElements / kSlabK;
      return unsigned(slab / kSlabsOfPanel * kPanelBytes + row * kPanelRowBytes + slab % kSlabsOfPanel * 64);
    }
    return unsigned(row / kPanelElements * kPanelBytes + slab * kSlabK * kPanelRowBytes);
  }
};

// The sparse one, in panels of rows of 64 bytes where a K-step has no more, else of 128.
template <int Extent, int Sharers>
struct SparseTile {
  static constexpr bool kKMajor = true;
  static constexpr int kRows = Extent;
  static constexpr int kStoredBytes = kBlockK / 2 * kElementBytes;  // of a row
  static constexpr int kRowBytes = kStoredBytes < kPanelRowBytes ? 64 : kPanelRowBytes;
  static constexpr int kPanels = kStoredBytes / kRowBytes;
  static constexpr int kPanelCols = kRowBytes / kElementBytes;
  static constexpr int kPanelBytes = kRows * kRowBytes;
  static constexpr int kBytes = kPanels * kPanelBytes;
  static constexpr int kCopiedRows = kRows / Sharers;
  static_assert(kStoredBytes % kRowBytes == 0, "a K-step's stored elements must split into whole panels");
  static_assert(kRows % kSwizzledRows == 0 && kRows % Sharers == 0 && kCopiedRows <= 256, "panels must be whole swizzled groups of rows, in equal parts");

  // The swizzle of as many bytes.
  static constexpr unsigned long long kDescriptor =
      (kRowBytes == 64 ? 2ull : 1ull) << 62 | (unsigned long long)(kSwizzledRows * kRowBytes >> 4) << 32 | 1ull << 16;

  static __device__ __forceinline__ constexpr unsigned offset(int row, int slab) {
    constexpr int kSlabsOfPanel = kRowBytes / 32;
    return unsigned(slab / kSlabsOfPanel * kPanelBytes + row * kRowBytes + slab % kSlabsOfPanel * 32);
  }
};

constexpr bool kAKMajor = !kTransA || (kPack & 1) != 0;  // as it lies, or since it is packed so
constexpr bool kBKMajor = kTransB || (kPack & 2) != 0;
using LeftTile = SparseTile<kLeftExtent, kLeftSharers>;
using RightTile = OperandTile<kRightExtent, kSwap ? kAKMajor : kBKMajor, kRightSharers>;
constexpr bool kLeftFromRegisters = false;
static_assert(RightTile::kKMajor || kElementBytes == 2, "from shared memory the instruction takes MN-major operands of 16 bits only");

constexpr int kMetadataSteps = kBlockK / metadata_block_k(kElementBytes);  // blocks of metadata along K, of a step
constexpr int kSlabsOfWord = metadata_block_k(kElementBytes) / kSlabK;     // instructions that take one word: by the selector
constexpr int kMetadataBytes = kMetadataSteps * (kLeftExtent / kMetadataRows) * kMetadataWords * 4;
constexpr int kMetadataAt = LeftTile::kBytes + RightTile::kBytes;
static_assert(kBlockK % metadata_block_k(kElementBytes) == 0, "a K-step must have whole blocks of metadata");
constexpr int kStageBytes = (kMetadataAt + kMetadataBytes + 1023) / 1024 * 1024;

// Of the tile's blocks of 16 rows those that there are: a tile's are copied as one piece, which ends with the matrix.
struct MetadataRows {
  int first, count;  // blocks that are copied
  int skipped;       // of these, ahead of the tile's first

  __device__ __forceinline__ MetadataRows(const SparseArgs& args, int left0) {
    constexpr int kBlocks = kLeftExtent / kMetadataRows;
    const int begin = left0 / kMetadataRows;
    count = min(kBlocks, args.row_blocks);
    first = min(begin, args.row_blocks - count);
    skipped = begin - first;
  }
};

__device__ __forceinline__ unsigned step_bytes(const SparseArgs& args) {
  return unsigned(kMetadataAt) + unsigned(kMetadataSteps * min(kLeftExtent / kMetadataRows, args.row_blocks)) * (kMetadataWords * 4);
}

}  // namespace tilesmith
