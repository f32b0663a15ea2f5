// Copies the K-steps of a B that is stored in rows along K, its rows in the order of tensor_core/paired_columns.cuh (macro TILESMITH_GATED):
// as StepCopyOf (tile_copy.cuh), with a place of its own for each row.
#pragma once

#include "kernels/common/gate.cuh"
#include "kernels/mma/tile_copy.cuh"
#include "kernels/tensor_core/paired_columns.cuh"

namespace tilesmith {

template <typename Element, typename Tile, int CopyBytes, int Threads, bool Async, int NextStep>
class PairedStepCopyOf {
  static constexpr int Rows = Tile::kRows;
  static constexpr int kElements = CopyBytes / int(sizeof(Element));
  static_assert(kElements >= 1 && Tile::kCols % kElements == 0, "a tile row must split into whole chunks");
  static constexpr int kChunksPerRow = Tile::kCols / kElements;
  static constexpr int kEvenShare = largest_power_of_two_dividing(kChunksPerRow);
  static constexpr int kThreadsPerRow = Threads < kEvenShare ? Threads : kEvenShare;
  static_assert(Threads % kThreadsPerRow == 0, "the block's threads must split into whole rows");
  static constexpr int kColumnPasses = kChunksPerRow / kThreadsPerRow, kColumnsPerPass = kThreadsPerRow * kElements;
  static constexpr int kRowsPerPass = Threads / kThreadsPerRow, kRowPasses = (Rows + kRowsPerPass - 1) / kRowsPerPass;
  static constexpr bool kSpareThreads = Rows % kRowsPerPass != 0;
  static constexpr bool kWholeSteps = kRowsPerPass % kPairedStep == 0;  // passes are as far apart as their pairs
  static constexpr int kEvenRows = largest_power_of_two_dividing(kRowsPerPass);
  static constexpr int kOffsets = kEvenRows < Tile::kPeriod ? Tile::kPeriod / kEvenRows : 1;
  static_assert(kOffsets * kRowsPerPass % Tile::kPeriod == 0, "the layout must repeat after whole passes");

 public:
  // The matrix is [n, cols] with row stride ld; the first step's tile starts at row row0 of the order, column col0.
  __device__ __forceinline__ PairedStepCopyOf(const Element* matrix, long long ld, int row0, int col0, int n, int cols)
      : matrix_(matrix), ld_(ld), pairs_(n / 2) {
    row_ = int(threadIdx.x) / kThreadsPerRow;
    const int col = int(threadIdx.x) % kThreadsPerRow * kElements;
    at_ = row0 + row_;
    source_ = matrix + (col0 + col);
#pragma unroll
    for (int i = 0; i < kOffsets; ++i) shared_offsets_[i] = Tile::offset(row_ + i * kRowsPerPass, col);
    cols_left_ = cols - col0 - col;
  }

  static __device__ __forceinline__ bool splits_whole(int, int) { return true; }

  // As StepCopyOf has it.
  template <bool Whole>
  __device__ __forceinline__ void step(Element* tile) {
    const Element* const first = source_ + row_of(at_) * ld_;
#pragma unroll
    for (int i = 0; i < kRowPasses; ++i) {
      if (kSpareThreads && row_ + i * kRowsPerPass >= Rows) break;
      const int at = at_ + i * kRowsPerPass;
      const Element* from = kWholeSteps ? first + i * (kRowsPerPass / (kGateInterleaved ? 1 : 2)) * ld_ : source_ + row_of(at) * ld_;
      Element* to = tile + shared_offsets_[i % kOffsets] + i / kOffsets * (kOffsets * kRowsPerPass * Tile::kStride);
#pragma unroll
      for (int j = 0; j < kColumnPasses; ++j) {
        copy_chunk<Whole>(to + j * kColumnsPerPass, from + j * kColumnsPerPass, pair_of(at) < pairs_, cols_left_ - j * kColumnsPerPass);
      }
    }
    source_ += NextStep;
    cols_left_ -= NextStep;
  }

 private:
  static __device__ __forceinline__ int pair_of(int at) { return at / kPairedStep * kPairedRun + at % kPairedRun; }
  __device__ __forceinline__ long long row_of(int at) const {
    const bool of_y = at % kPairedStep >= kPairedRun;
    return of_y ? column_of_y(pair_of(at), 2 * pairs_) : column_of_x(pair_of(at));
  }

  template <bool Whole>
  __device__ __forceinline__ void copy_chunk(Element* to, const Element* from, bool row_inside, int columns) const {
    if constexpr (Whole) {
      if constexpr (Async) {
        async_copy_whole<CopyBytes>(to, from, row_inside);
      } else {
        plain_copy_whole<CopyBytes>(to, from, row_inside);
      }
    } else {
      const int inside = row_inside ? max(0, min(columns, kElements)) : 0;
      const Element* source = inside > 0 ? from : matrix_;  // where nothing is read the address must still be one
      if constexpr (Async) {
        async_copy_part<CopyBytes>(to, source, inside * int(sizeof(Element)));
      } else {
        plain_copy_part<CopyBytes>(to, source, inside * int(sizeof(Element)));
      }
    }
  }

  const Element* matrix_;
  const Element* source_;  // this thread's first chunk of the current step, of row 0
  long long ld_;
  int pairs_;
  int shared_offsets_[kOffsets];  // of this thread's first chunks in the tile
  int row_, at_;                  // of this thread's first chunk: in the tile, in the order
  int cols_left_;                 // columns of the matrix from this thread's first chunk on
};

}  // namespace tilesmith
