// How a stage of the family `mma` lies in shared memory.
//
// Each operand's tile keeps the orientation that it has in global memory, or in its packed copy: rows of K elements
// ("K-major": A as N, B as T), or rows of M or N elements ("MN-major"). Rows are not padded; the 16-byte chunks of a
// row are exchanged (chunk XOR a number that depends on the row) so that whatever a warp reads at a time lies in
// different banks:
//
//   one row of 128 bytes    0 1 2 3 4 5 6 7       what is read at a time:
//   the next                1 0 3 2 5 4 7 6         16-bit, and all K-major but f64: 8 rows × 1 chunk (ldmatrix)
//   the next                2 3 0 1 6 7 4 5         8-bit MN-major: the same, of rows 0 1 4 5 8 9 12 13 or the other eight
//   ...                                             tf32 MN-major: 4 rows × chunks c and c + 4, a word or two a thread
//                                                   f64, and tf32 in tiles of 16: 4 rows × 2 chunks, an element a
//                                                   thread
//
// For 16-bit and tf32 operands, and K-major 8-bit ones, this is what the tensor memory accelerator does by itself, but
// that its rows have 32, 64 or 128 bytes: then a longer row is cut into panels, which lie one behind the other.
#pragma once

#include "kernels/mma/instruction.cuh"

namespace tilesmith {

constexpr int kChunkBytes = 16;
constexpr int kChunkElements = kChunkBytes / int(sizeof(Operand));

// Warp: how many of the tile's rows along M or N a warp multiplies.
template <int Rows, int Cols, bool KMajor, int Warp>
struct SwizzledTile {
  static constexpr bool kKMajor = KMajor;
  static constexpr int kRows = Rows;
  static constexpr int kCols = Cols;
  static constexpr int kRowBytes = Cols * int(sizeof(Operand));
  static constexpr int kPanelRowBytes = kRowBytes % 128 == 0 ? 128 : 64;
  static constexpr int kPanels = kTma && kRowBytes > kPanelRowBytes ? kRowBytes / kPanelRowBytes : 1;
  static constexpr int kStride = Cols / kPanels;  // elements from row to row
  static constexpr int kStrideBytes = kRowBytes / kPanels;
  static constexpr int kPanelBytes = Rows * kStrideBytes;
  static constexpr int kElements = Rows * Cols;
  static constexpr int kLineBytes =
      kPanels > 1 ? 128 / kStrideBytes* kPanelBytes : 128;            // from a chunk to the eighth after it
  static constexpr bool kByteRows = !KMajor && sizeof(Operand) == 1;  // rows of bytes that ldmatrix transposes in pairs
  static constexpr bool kTwoChunkRows =
      !KMajor && sizeof(Operand) == 4 && Warp % 32 == 0;  // of words, two chunks of a row at a time
  static constexpr bool kWordRows =
      sizeof(Operand) == 8 || (!KMajor && sizeof(Operand) == 4 && !kTwoChunkRows);  // two neighbours
  static constexpr int kPeriod = kByteRows ? 16 : 8;
  static_assert(kRowBytes % 32 == 0, "a row must hold whole pairs of chunks");
  static_assert(kPanels == 1 || kRowBytes % kPanelRowBytes == 0, "a row must split into whole panels");

  // Of K row r, where it is stored: the rows that one ldmatrix reads (0 1 4 5 8 9 12 13) come to lie side by side.
  static __device__ __forceinline__ int stored_row(int row) {
    if constexpr (kByteRows) {
      return (row & ~15) | (row & 2) << 2 | (row & 12) >> 1 | (row & 1);
    } else {
      return row;
    }
  }

  // What chunk numbers of a stored row are exchanged by; always below the largest power of two that divides a row's
  // chunks.
  static __device__ __forceinline__ int exchange(int row) {
    constexpr int kLine = kStrideBytes % 128 == 0  ? 8
                          : kStrideBytes % 64 == 0 ? 4
                                                   : 2;  // chunks that share a line of banks
    constexpr int kRowsOfLine = 8 / kLine;
    if constexpr (kWordRows) {
      return row / kRowsOfLine % (kLine / 2) * 2;
    } else {
      return row / kRowsOfLine % kLine;
    }
  }

  // In elements; `chunk` counts along the row.
  static __device__ __forceinline__ int chunk_offset(int stored, int chunk) {
    if constexpr (kPanels > 1) {
      constexpr int kChunks = kStride / kChunkElements;  // of a panel's row
      return chunk / kChunks * (Rows * kStride) + stored * kStride +
             (chunk % kChunks ^ exchange(stored)) * kChunkElements;
    } else {
      return stored * kStride + (chunk ^ exchange(stored)) * kChunkElements;
    }
  }

  static __device__ __forceinline__ int offset(int row, int col) {
    return chunk_offset(stored_row(row), col / kChunkElements) + col % kChunkElements;
  }
};

// Rows that lie as in global memory, each with its skew (skewed.cuh): room for as many elements, and a chunk more.
template <int Rows, int Cols, bool KMajor>
struct SkewedTile {
  static constexpr bool kKMajor = KMajor, kByteRows = false, kTwoChunkRows = false;
  static constexpr int kRows = Rows;
  static constexpr int kStride = Cols + kChunkElements;
  static constexpr int kStrideBytes = kStride * int(sizeof(Operand));
  static constexpr int kElements = Rows * kStride;
  static constexpr int kPanels = 1, kPanelBytes = Rows * kStrideBytes;  // as the other has them; TMA fills none
};

constexpr bool kSkewed = kCopyBytes < 4;  // no asynchronous copy is as narrow

constexpr bool kAKMajor = !kTransA || (kPackKMajor && (kPack & 1) != 0);  // as it lies, or since it is packed so
constexpr bool kBKMajor = kTransB || (kPackKMajor && (kPack & 2) != 0);
// A 2:4 sparse operand must be the instruction's left one. Its metadata lie behind both tiles.
static_assert(!kIsSparse || (kSparseB == (kSwap != 0) && (kSparseB ? kTransB : !kTransA)),
              "the sparse operand must be the left one, in rows along K");
constexpr int kShareA = kIsSparse && !kSparseB ? 2 : 1, kShareB = kSparseB ? 2 : 1;  // elements of K a stored one
constexpr int kStepOfA = kBlockK / kShareA, kStepOfB = kBlockK / kShareB;
template <int Rows, int Cols, bool KMajor, int Warp>
using StageTile = Either<kSkewed, SkewedTile<Rows, Cols, KMajor>, SwizzledTile<Rows, Cols, KMajor, Warp>>;
using TileA = StageTile<kAKMajor ? kBlockM : kStepOfA, kAKMajor ? kStepOfA : kBlockM, kAKMajor, kWarpM>;
using TileB = StageTile<kBKMajor ? kBlockN : kStepOfB, kBKMajor ? kStepOfB : kBlockN, kBKMajor, kWarpN>;

constexpr int kElementsOfA = TileA::kElements;
constexpr int kMetadataAt = (kElementsOfA + TileB::kElements) * kElementBytes;
constexpr int kMetadataRowBlocks = (kSwap ? kBlockN : kBlockM) / kMetadataRows;
constexpr int kMetadataBytes =
    kIsSparse ? kBlockK / metadata_block_k(kElementBytes) * kMetadataRowBlocks * kMetadataWords * 4 : 0;
constexpr int kStageBytes = kMetadataAt + kMetadataBytes;
constexpr int kStageElements = kStageBytes / kElementBytes;
static_assert(kElementsOfA * sizeof(Operand) % 128 == 0, "both tiles of a stage must start at a line of banks");

}  // namespace tilesmith
