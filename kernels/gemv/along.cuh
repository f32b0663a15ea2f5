// Dot products of rows of the matrix with the vector: the matrix's rows lie along K (family `gemv`).
//
// Chunk i of a row holds elements [i·kVector - shift, (i + 1)·kVector - shift) of K. Of a batch of kLanes × kUnroll
// chunks thread `lane` of a row's kLanes reads chunks lane, lane + kLanes, ...; the panel's first chunk is the batch's.
#pragma once

#include "kernels/gemv/panel.cuh"
#include "kernels/shared/finish/scale.cuh"

namespace tilesmith {

class DotProducts {
  static constexpr int kChains = 2;  // sums of a row that do not wait for one another
  static constexpr int kBatchChunks = kLanes * kUnroll;
  static constexpr int kStep = kLanes * kVector;  // elements from one of a thread's chunks to the next

 public:
  // Rows past the last output are read as the tile's first: they are not stored.
  __device__ __forceinline__ DotProducts(const Task& task, const Tile& tile, int shift, int k, int last_chunk)
      : matrix_(task.matrix), matrix_end_(task.matrix_end), shift_(shift), end_(min(k, last_chunk * kVector - shift)) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int output = tile.output(group() + r * kGroups);
      rows_[r] = task.matrix + (output < task.outputs ? output : tile.first) * task.ld;
    }
  }

  // Starts the loads of the batch whose first chunk is `at`.
  __device__ __forceinline__ void load(int at) {
    first_ = (at + lane()) * kVector - shift_;
    whole_ = at * kVector >= shift_ && (at + kBatchChunks) * kVector - shift_ <= end_;
    if (whole_) {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) batch_[u][r] = load_chunk(rows_[r] + first_ + u * kStep);
      }
    } else {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
        for (int r = 0; r < kRows; ++r)
          batch_[u][r] = load_part(rows_[r], first_ + u * kStep, end_, matrix_, matrix_end_);
      }
    }
  }

  // Multiplies it with the part of the panel that starts at `vector`.
  __device__ __forceinline__ void multiply(const Bits* vector) {
    const Chunk* chunks = reinterpret_cast<const Chunk*>(vector) + lane();
    if (!whole_) {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) keep_inside(batch_[u][r], first_ + u * kStep, end_);
      }
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const Chunk x = chunks[u * kLanes];
#pragma unroll
      for (int f = 0; f < kFactors; ++f) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) multiply_add(sums_[r][f % kChains], factor(batch_[u][r], f), factor(x, f));
      }
    }
  }

  // A sum for every row and warp.
  __device__ __forceinline__ void store(Sum* partials) const {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      Sum sum = added(sums_[r][0], sums_[r][1]);
#pragma unroll
      for (int distance = 1; distance < min(kLanes, 32); distance *= 2) {
        sum = added(sum, __shfl_xor_sync(0xffffffffu, sum, distance));
      }
      if (lane() % 32 == 0) partials[lane() / 32 * kOutputs + group() + r * kGroups] = sum;
    }
  }

 private:
  static __device__ __forceinline__ int lane() { return int(threadIdx.x) % kLanes; }
  static __device__ __forceinline__ int group() { return int(threadIdx.x) / kLanes; }

  const Bits* matrix_;
  const Bits* matrix_end_;
  const Bits* rows_[kRows];
  int shift_;
  int end_;     // elements of a row from here on are not this slice's
  int first_;   // element of the batch's first chunk
  bool whole_;  // the block's batch lies inside the rows
  Chunk batch_[kUnroll][kRows];
  Sum sums_[kRows][kChains] = {};
};

__device__ __forceinline__ void sum_along(const Task& task, const Tile& tile, int slice, Bits* panel, Sum* partials) {
  constexpr int kPanelChunks = kPanel / kVector;
  constexpr int kBatchChunks = kLanes * kUnroll;
  constexpr int kLineChunks = 8;  // slices start at 128-byte steps of a row
  // Where there are fewer rows than shifts, some tiles have none. Where k = 0 there may be no matrix: nothing is read.
  const int k = tile.first < task.outputs ? task.k : 0;
  const int shift = shift_of(task.matrix + tile.first * task.ld);
  const Slice chunks(slice, k > 0 ? (k + shift + kVector - 1) / kVector : 0, kLineChunks);

  DotProducts products(task, tile, shift, k, chunks.end);
  for (int first = chunks.begin; first < chunks.end; first += kPanelChunks) {
    const int end = min(chunks.end, first + kPanelChunks);
    const PanelCopy copy(
        task, panel, first * kVector - shift, (end - first) * kVector, min(k, chunks.end * kVector - shift));
    copy.start();
    products.load(first);
    copy.finish();
    __syncthreads();
    for (int at = first;;) {
      products.multiply(panel + (at - first) * kVector);
      at += kBatchChunks;
      if (at >= end) break;
      products.load(at);
    }
    if (end < chunks.end) __syncthreads();  // the next panel takes this one's place
  }
  products.store(partials);
}

}  // namespace tilesmith
