// How a stage of the family `wgmma` lies in shared memory, and the descriptors by which instructions read it.
//
// Each operand's tile is cut into panels of 128-byte rows, one behind the other, swizzled by the tensor memory
// accelerator (16-byte chunk XOR row % 8); groups of 8 rows start at 1024-byte steps.
//
//   K-major    rows run along M or N, a panel holds 128 bytes of K     an instruction's 32 bytes of K lie within a row
//   MN-major   rows run along K, a panel holds 128 bytes of M or N     16 bits: 64 of M or N a panel, of the last one less may
//                                                                      be used; 8 and 32 bits: 128 and 32, the left
//                                                                      operand only (left_operand.cuh)
//
// Packed operands are K-major (k_major_copy.cuh). A sparse left operand has half as many elements along K; their
// metadata lie behind both tiles of a stage. In f32x3 the right operand is packed, and the left one goes through
// registers, where it is split (left_split.cuh).
#pragma once

#include "kernels/shared/multiply/sparse_args.cuh"
#include "kernels/shared/multiply/weights_layout.cuh"
#include "kernels/wgmma/shape.cuh"

namespace tilesmith {

constexpr int kElementBytes = int(sizeof(Operand));
constexpr int kPanelRowBytes = 128;
constexpr int kPanelElements = kPanelRowBytes / kElementBytes;
constexpr int kStoredShare = kIsSparse ? 2 : 1;  // one of so many elements of the left operand is stored
constexpr int kSlabK = 32 * kStoredShare / kElementBytes;  // elements of K of an instruction
constexpr int kSlabs = kBlockK / kSlabK;
constexpr int kSwizzledRows = 8;  // after which the swizzle repeats
static_assert(!kIsSparse || kSparseB == (kSwap != 0), "the sparse operand is the left one");

//   Extent    rows of the operand along M or N
//   Share     one of so many elements along K is stored
//   Sharers   blocks of the cluster that use the tile: each copies a part of it to all of them
//   Copies    panels of the same elements, one behind the other: in f32x3 the big parts and the small ones (pack.cuh)
template <int Extent, bool KMajor, int Share, int Sharers, int Copies = 1>
struct OperandTile {
  static constexpr int kStoredK = kBlockK / Share;
  static constexpr bool kKMajor = KMajor;
  static constexpr int kRows = KMajor ? Extent : kStoredK;  // of a panel
  static constexpr int kCols = KMajor ? kStoredK : Extent;
  // A sparse operand's K-step may have no more than 64 bytes.
  static constexpr int kRowBytes = Share > 1 && kStoredK * kElementBytes < kPanelRowBytes ? 64 : kPanelRowBytes;
  static constexpr int kPanelCols = kRowBytes / kElementBytes;
  static constexpr int kPanels = Copies * ((kCols + kPanelCols - 1) / kPanelCols);
  static constexpr int kPanelBytes = kRows * kRowBytes;
  static constexpr int kBytes = kPanels * kPanelBytes;
  static constexpr int kCopiedRows = kRows / Sharers;  // of each panel, by one block
  static_assert(!KMajor || kCols % kPanelCols == 0, "a K-step must split into whole panels");
  static_assert(kRows % kSwizzledRows == 0 && kRows % Sharers == 0,
                "panels must be whole swizzled groups of rows, in equal parts");
  static_assert(kCopiedRows <= 256, "a box has no more rows");

  // Of the descriptor, all but the address: the swizzle of a row's bytes; the distance of 8-row groups; that of panels
  // along M or N.
  static constexpr unsigned long long kDescriptor = (kRowBytes == 64 ? 2ull : 1ull) << 62 |
                                                    (unsigned long long)(kSwizzledRows * kRowBytes >> 4) << 32 |
                                                    (unsigned long long)(KMajor ? 1 : kPanelBytes >> 4) << 16;

  // Bytes from the tile's start to what the instruction of a slab reads, from row (along M or N) `row` on, a multiple
  // of 64.
  static __device__ __forceinline__ constexpr unsigned offset(int row, int slab, int copy = 0) {
    if (KMajor) {
      constexpr int kSlabBytes = 32 * kStoredShare / Share, kSlabsOfPanel = kRowBytes / kSlabBytes;
      return unsigned(
          (slab / kSlabsOfPanel * Copies + copy) * kPanelBytes + row * kRowBytes + slab % kSlabsOfPanel * kSlabBytes);
    }
    return unsigned(row / kPanelElements * kPanelBytes + slab * kSlabK * kPanelRowBytes);
  }
  // The column of the stored matrix where the step at k begins, K-major.
  static __device__ __forceinline__ constexpr int column(int k) { return k * Copies / Share; }
};

// Blocks of weights as they lie, strip by strip along N, block by block of a strip
// (kernels/shared/multiply/weights_layout.cuh). They go through registers (left_weights.cuh).
constexpr int kCodeColumns = code_block_columns(kWeightBits);
struct WeightTile {
  static constexpr bool kKMajor = true;
  static constexpr int kStrips = kLeftExtent / kCodeBlockRows, kBlocks = kBlockK / kCodeColumns;  // of a strip
  static constexpr int kBytes = kStrips * kBlocks * kCodeBlockBytes;
};
static_assert(!kHasWeights || (kSwap != 0 && kLeftSharers == 1 && (kPack & 2) == 0),
    "weights are the left operand, of one block, as they lie");

constexpr bool kAKMajor = !kTransA || (kPack & 1) != 0;  // as it lies, or since it is packed so
constexpr bool kBKMajor = kTransB || (kPack & 2) != 0;
constexpr bool kLeftKMajor = kIsSparse || (kSwap ? kBKMajor : kAKMajor), kRightKMajor = kSwap ? kAKMajor : kBKMajor;
using LeftTile = Either<kHasWeights, WeightTile, OperandTile<kLeftExtent, kLeftKMajor, kStoredShare, kLeftSharers>>;
using RightTile = OperandTile<kRightExtent, kRightKMajor, 1, kRightSharers, kThreeProducts ? 2 : 1>;
constexpr bool kLeftFromRegisters = !LeftTile::kKMajor && kElementBytes != 2;
static_assert(RightTile::kKMajor || kElementBytes == 2,
              "from shared memory the instruction takes MN-major operands of 16 bits only");

// A sparse operand's metadata: [k][row / 16][32], of 16 rows × 16 groups a word for each lane.
constexpr int kMetadataBlockK = metadata_block_k(kElementBytes);
constexpr int kMetadataSteps = kBlockK / kMetadataBlockK;     // blocks of metadata along K, of a step
constexpr int kSlabsOfWord = kMetadataBlockK / kSlabK;        // instructions that take one word: by the selector
constexpr int kMetadataRowBlocks = kLeftExtent / kMetadataRows;
constexpr int kMetadataBytes = kIsSparse ? kMetadataSteps * kMetadataRowBlocks * kMetadataWords * 4 : 0;
constexpr int kMetadataAt = LeftTile::kBytes + RightTile::kBytes;
static_assert(!kIsSparse || kBlockK % kMetadataBlockK == 0, "a K-step must have whole blocks of metadata");
constexpr int kStageBytes = (kMetadataAt + kMetadataBytes + 1023) / 1024 * 1024;

// The blocks of metadata (16 rows each) that are copied for a tile: one piece of memory, which must not reach over the
// matrix' end.
struct TileMetadata {
  int first, count;  // blocks that are copied
  int skipped;       // of these, ahead of the tile's first

  __device__ __forceinline__ TileMetadata(const SparseArgs& args, int left0) {
    const int begin = left0 / kMetadataRows;
    count = min(kMetadataRowBlocks, args.row_blocks);
    first = min(begin, args.row_blocks - count);
    skipped = begin - first;
  }
};

// Descriptors of places in a tile of a stage. The low word's first 14 bits are the address, in units of 16 bytes. All
// of shared memory lies below what they can hold, so that another place in the tile costs one addition.
template <typename Tile>
class Descriptors {
 public:
  // The address may have the block's rank in its cluster above these bits.
  __device__ __forceinline__ explicit Descriptors(unsigned address)
      : low_(unsigned(Tile::kDescriptor) | (address & 0x3ffff) >> 4) {}

  __device__ __forceinline__ unsigned long long at(unsigned offset) const {
    return (Tile::kDescriptor & ~0xffffffffull) | (low_ + (offset >> 4));
  }

 private:
  unsigned low_;
};

}  // namespace tilesmith
