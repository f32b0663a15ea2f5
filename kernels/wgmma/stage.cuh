// How a stage of the family `wgmma` lies in shared memory, and what an instruction is told of it.
//
// Each operand's tile is cut into panels of 128-byte rows, one behind the other, swizzled by the tensor memory accelerator (16-byte
// chunk XOR row % 8); groups of 8 rows start at 1024-byte steps.
//
//   K-major    rows run along M or N, a panel holds 128 bytes of K     an instruction's 32 bytes of K lie within a row
//   MN-major   rows run along K, a panel holds 128 bytes of M or N     16 bits: 64 of M or N a panel, of the last one less may
//                                                                      be used; 8 and 32 bits: 128 and 32, the left
//                                                                      operand only (left_operand.cuh)
//
// Packed operands are K-major (k_major_copy.cuh). Of f32x3 the right one is packed, and the left one goes through registers, where it is
// split (left_split.cuh).
#pragma once

#include "kernels/wgmma/shape.cuh"
#ifdef TILESMITH_WEIGHTS
#include "kernels/common/weights_layout.cuh"
#endif

namespace tilesmith {

constexpr int kElementBytes = int(sizeof(Operand));
constexpr int kPanelRowBytes = 128;
constexpr int kPanelElements = kPanelRowBytes / kElementBytes;
#ifdef TILESMITH_SPARSE
constexpr int kSwizzledRows = 8;
}  // namespace tilesmith

#include "kernels/wgmma/sparse_stage.cuh"

namespace tilesmith {
#else
constexpr int kSlabK = 32 / kElementBytes;  // elements of K of an instruction
constexpr int kSlabs = kBlockK / kSlabK;
constexpr int kSwizzledRows = 8;  // after which the swizzle repeats

// Extent: of M or N; Sharers: blocks of the cluster that each copy a part of it to all of them.
template <int Extent, bool KMajor, int Sharers>
struct OperandTile {
  static constexpr bool kKMajor = KMajor;
#ifdef TILESMITH_THREE_PRODUCTS
  static constexpr bool kSplit = false;
#endif
  static constexpr int kRows = KMajor ? Extent : kBlockK;  // of a panel
  static constexpr int kCols = KMajor ? kBlockK : Extent;
  static constexpr int kPanels = (kCols + kPanelElements - 1) / kPanelElements;
  static constexpr int kPanelBytes = kRows * kPanelRowBytes;
  static constexpr int kBytes = kPanels * kPanelBytes;
  static constexpr int kCopiedRows = kRows / Sharers;  // of each panel, by one block
  static_assert(!KMajor || kCols % kPanelElements == 0, "a K-step must split into whole panels");
  static_assert(kRows % kSwizzledRows == 0 && kRows % Sharers == 0,
                "panels must be whole swizzled groups of rows, in equal parts");
  static_assert(kCopiedRows <= 256, "a box has no more rows");

  // Of the descriptor, all but the address: 128-byte swizzle; the distance of 8-row groups; that of panels along M or N.
  static constexpr unsigned long long kDescriptor = 1ull << 62 |
                                                    (unsigned long long)(kSwizzledRows * kPanelRowBytes >> 4) << 32 |
                                                    (unsigned long long)(KMajor ? 1 : kPanelBytes >> 4) << 16;

  // Bytes from the tile's start to what the instruction of a slab takes, from row (along M or N) `row` on, a multiple of 64.
  static __device__ __forceinline__ constexpr unsigned offset(int row, int slab) {
    if (KMajor) {
      constexpr int kSlabsOfPanel = kPanelElements / kSlabK;
      return unsigned(slab / kSlabsOfPanel * kPanelBytes + row * kPanelRowBytes + slab % kSlabsOfPanel * 32);
    }
    return unsigned(row / kPanelElements * kPanelBytes + slab * kSlabK * kPanelRowBytes);
  }
};

constexpr bool kAKMajor = !kTransA || (kPack & 1) != 0;  // as it lies, or since it is packed so
constexpr bool kBKMajor = kTransB || (kPack & 2) != 0;
#ifdef TILESMITH_WEIGHTS
// Blocks of weights as they lie, strip by strip along N, block by block of a strip (kernels/common/weights_layout.cuh). They go through
// registers (left_weights.cuh).
constexpr int kCodeColumns = code_block_columns(kWeightBits);
struct LeftTile {
  static constexpr bool kKMajor = true;
  static constexpr int kStrips = kLeftExtent / kCodeBlockRows, kBlocks = kBlockK / kCodeColumns;  // of a strip
  static constexpr int kBytes = kStrips * kBlocks * kCodeBlockBytes;
};
static_assert(kSwap != 0 && kLeftSharers == 1 && (kPack & 2) == 0, "weights are the left operand, of one block, as they lie");
#else
using LeftTile = OperandTile<kLeftExtent, kSwap ? kBKMajor : kAKMajor, kLeftSharers>;
#endif
#ifdef TILESMITH_THREE_PRODUCTS
// Packed K-major: a panel of big ones, and the same elements' small ones (pack.cuh), panel by panel along K.
struct RightTile : OperandTile<kRightExtent, true, kRightSharers> {
  static constexpr bool kSplit = true;
  static constexpr int kPanels = 2 * OperandTile::kPanels;
  static constexpr int kBytes = kPanels * kPanelBytes;

  static __device__ __forceinline__ constexpr unsigned offset(int slab, bool small) {
    constexpr int kSlabsOfPanel = kPanelElements / kSlabK;
    return unsigned((slab / kSlabsOfPanel * 2 + (small ? 1 : 0)) * kPanelBytes + slab % kSlabsOfPanel * 32);
  }
};
#else
using RightTile = OperandTile<kRightExtent, kSwap ? kAKMajor : kBKMajor, kRightSharers>;
#endif
constexpr bool kLeftFromRegisters = !LeftTile::kKMajor && kElementBytes != 2;
static_assert(RightTile::kKMajor || kElementBytes == 2,
              "from shared memory the instruction takes MN-major operands of 16 bits only");
constexpr int kStageBytes = LeftTile::kBytes + RightTile::kBytes;
#endif

// Descriptors of what lies in a tile of a stage. The address stands in the low word's first 14 bits, in units of 16 bytes; shared
// memory ends below what they hold, so that what lies further on takes one addition, and not a descriptor made anew.
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
