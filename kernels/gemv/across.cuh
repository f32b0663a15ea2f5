// Rows of the matrix times elements of the vector, added up: the matrix's rows lie across the outputs (family `gemv`).
//
// A warp's kLanes threads side by side make a stream; a stream takes every kStreams-th row of the slice and holds the
// sums of the tile's columns. Stream s of warp w starts at row w + kWarps·s, so that all rows of a warp have the same
// shift.
#pragma once

#include "kernels/gemv/panel.cuh"
#include "kernels/shared/finish/scale.cuh"

namespace tilesmith {

class ColumnSums {
  static constexpr int kStreams = kThreads / kLanes;

 public:
  __device__ __forceinline__ ColumnSums(const Task& task, const Tile& tile, const Slice& rows)
      : matrix_(task.matrix), matrix_end_(task.matrix_end), ld_(task.ld), outputs_(task.outputs), end_(rows.end) {
    row_ = rows.begin + stream();
    const int shift = shift_of(matrix_ + row_ * ld_ + tile.first);
    column_ = tile.first - shift + int(threadIdx.x) % kLanes * kVector;
    inside_ = column_ >= 0 && column_ + kVector <= outputs_;
  }

  // Starts the loads of the next batch of rows.
  __device__ __forceinline__ void load() {
    if (inside_ && row_ + (kUnroll - 1) * kStreams < end_) {
      const Bits* from = matrix_ + row_ * ld_ + column_;
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) batch_[u] = load_chunk(from + u * kStreams * ld_);
    } else {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const int row = row_ + u * kStreams;
        batch_[u] = row < end_ ? load_part(matrix_ + row * ld_, column_, outputs_, matrix_, matrix_end_) : Chunk{};
      }
    }
    row_ += kUnroll * kStreams;
  }

  // Multiplies it with the part of the panel that starts at `vector`.
  __device__ __forceinline__ void multiply(const Bits* vector) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      multiply_add_elements(sums_, batch_[u], factor(vector[stream() + u * kStreams]));
    }
  }

  // A sum for every column of the tile and warp.
  __device__ __forceinline__ void store(const Tile& tile, Sum* partials) {
    int column = column_ - tile.first;
    add_streams<kVector, kLanes>(column);
    constexpr int kHeld = kVector * kLanes / 32 > 0 ? kVector * kLanes / 32 : 1;
    Sum* mine = partials + int(threadIdx.x) / 32 * kOutputs;
#pragma unroll
    for (int e = 0; e < kHeld; ++e) {
      // Where there are more streams than sums of a thread, several threads write the same sum.
      if (!kShifted || (column + e >= 0 && column + e < kOutputs)) mine[column + e] = sums_[e];
    }
  }

 private:
  static __device__ __forceinline__ int stream() {
    return int(threadIdx.x) / 32 + int(threadIdx.x) % 32 / kLanes * kWarps;
  }

  // Adds the sums of the warp's streams. Two threads `Distance` apart hold Count sums of the same columns: each hands
  // half of them to the other and keeps the totals of the other half, until a thread has one sum or the streams are
  // done.
  template <int Count, int Distance>
  __device__ __forceinline__ void add_streams(int& column) {
    if constexpr (Distance < 32) {
      if constexpr (Count > 1) {
        constexpr int kHalf = Count / 2;
        const bool upper = (int(threadIdx.x) & Distance) != 0;
#pragma unroll
        for (int e = 0; e < kHalf; ++e) {
          const Sum kept = upper ? sums_[e + kHalf] : sums_[e];
          const Sum given = upper ? sums_[e] : sums_[e + kHalf];
          sums_[e] = added(kept, __shfl_xor_sync(0xffffffffu, given, Distance));
        }
        if (upper) column += kHalf;
        add_streams<kHalf, Distance * 2>(column);
      } else {
        sums_[0] = added(sums_[0], __shfl_xor_sync(0xffffffffu, sums_[0], Distance));
        add_streams<1, Distance * 2>(column);
      }
    }
  }

  const Bits* matrix_;
  const Bits* matrix_end_;
  long long ld_;
  int outputs_;
  int end_;     // of the slice's rows
  int row_;     // of the next batch, this thread's first
  int column_;  // of this thread's chunks, their first
  bool inside_;
  Chunk batch_[kUnroll];
  Sum sums_[kVector] = {};
};

__device__ __forceinline__ void sum_across(const Task& task, const Tile& tile, int slice, Bits* panel, Sum* partials) {
  const Slice rows(slice, task.k, kVector);  // slices of the vector start at 16-byte steps
  ColumnSums sums(task, tile, rows);
  for (int first = rows.begin; first < rows.end; first += kPanel) {
    const int end = min(rows.end, first + kPanel);
    const PanelCopy copy(task, panel, first, end - first, rows.end);
    copy.start();
    sums.load();
    copy.finish();
    __syncthreads();
    for (int at = first;;) {
      sums.multiply(panel + (at - first));
      at += kBatch;
      if (at >= end) break;
      sums.load();
    }
    if (end < rows.end) __syncthreads();  // the next panel takes this one's place
  }
  sums.store(tile, partials);
}

}  // namespace tilesmith
