// Packing passes: copies of operands in the workspace whose rows start at multiples of 128 bytes. A block does a share
// of one operand; a thread has several loads under way together. This file copies an operand as it is stored.
//   kPaired  B of a gated epilogue: its rows, along K, in the order of paired_columns.cuh
//   kCopies  1, or 2 of f32 that is split (split.cuh): of each line of 128 bytes the big parts, then the small ones
#pragma once

#include "kernels/shared/load/chunk_reader.cuh"
#include "kernels/shared/finish/paired_columns.cuh"
#include "kernels/shared/work/split.cuh"

namespace tilesmith {

// Where row n of `rows` lies in a packed copy. Places of pairs that do not exist are not written: what a GEMM computes
// from them is not stored.
template <bool kPaired>
__device__ __forceinline__ long long packed_row(int n, int rows) {
  if constexpr (!kPaired) return n;
  const bool of_y = kGateInterleaved ? n % 2 != 0 : n >= rows / 2;
  const int pair = kGateInterleaved ? n / 2 : of_y ? n - rows / 2 : n;
  return pair / kPairedRun * kPairedStep + pair % kPairedRun + (of_y ? kPairedRun : 0);
}
template <bool kPaired>
__device__ __forceinline__ long long packed_rows(int rows) {
  return kPaired ? paired_columns(rows) : rows;
}

template <typename Element>
constexpr int kLineElements = kPackedRowAlignBytes / int(sizeof(Element));

template <typename Element, bool kPaired, int kCopies>
__device__ __forceinline__ long long packed_offset(long long stride, int row, int rows, int col) {
  constexpr int kLine = kLineElements<Element>;
  return packed_row<kPaired>(row, rows) * (kCopies * stride) + col + (kCopies - 1) * (col / kLine * kLine);
}

template <int kCopies, typename Element>
__device__ __forceinline__ void put_chunk(Element* to, const uint4& chunk) {
  if constexpr (kCopies == 1) {
    *reinterpret_cast<uint4*>(to) = chunk;
  } else {
    const Split x = split(chunk.x), y = split(chunk.y), z = split(chunk.z), w = split(chunk.w);
    *reinterpret_cast<uint4*>(to) = make_uint4(x.big, y.big, z.big, w.big);
    *reinterpret_cast<uint4*>(to + kLineElements<Element>) =
        make_uint4(x.small & kTf32Bits, y.small & kTf32Bits, z.small & kTf32Bits, w.small & kTf32Bits);
  }
}

template <typename Element, bool kPaired = false, int kCopies = 1>
class AlignedCopy {
 public:
  __device__ __forceinline__ AlignedCopy(const void* from, long long ld, int rows, int cols, Element* to)
      : reader_(from, ld, rows, cols), to_(to) {}

  __device__ __forceinline__ long long elements() const {
    return kCopies * packed_bytes(packed_rows<kPaired>(reader_.rows()), reader_.cols(), sizeof(Element)) /
           sizeof(Element);
  }
  __device__ __forceinline__ unsigned shares() const { return unsigned((chunks() + kShare - 1) / kShare); }

  __device__ __forceinline__ void copy(unsigned share) const {
    const int per_row = chunks_per_row();
    const long long first = static_cast<long long>(share) * kShare;
    // A 64-bit division takes as long as the copy: only where the operand has so many chunks.
    const int row = first <= 0xffffffffll ? int(unsigned(first) / unsigned(per_row)) : int(first / per_row);
    const unsigned chunk = unsigned(first - static_cast<long long>(row) * per_row);
    if (reader_.readable(row, row + int((chunk + kShare - 1) / per_row))) {
      copy<Chunks::readable>(row, chunk);
    } else {
      copy<Chunks::any>(row, chunk);
    }
  }

 private:
  static constexpr int kShare = kPackThreads * kPackChunks;

  // From that chunk of the row on, row after row.
  template <Chunks Known>
  __device__ __forceinline__ void copy(int first_row, unsigned first_chunk) const {
    typename ChunkReader<Element>::Chunk read[kPackChunks];
    Element* to[kPackChunks];
    const unsigned per_row = unsigned(chunks_per_row());
#pragma unroll
    for (int i = 0; i < kPackChunks; ++i) {
      const unsigned chunk = first_chunk + i * kPackThreads + threadIdx.x;
      const int row = first_row + int(chunk / per_row), col = int(chunk % per_row) * ChunkReader<Element>::kCount;
      read[i] = reader_.template load<Known>(row, col);
      to[i] = to_ + packed_offset<Element, kPaired, kCopies>(
                        packed_row_stride(reader_.cols(), sizeof(Element)), row, reader_.rows(), col);
      if (Known == Chunks::any && row >= reader_.rows()) to[i] = nullptr;
    }
#pragma unroll
    for (int i = 0; i < kPackChunks; ++i) {
      if (Known != Chunks::any || to[i] != nullptr) put_chunk<kCopies>(to[i], reader_.value(read[i]));
    }
  }

  __device__ __forceinline__ int chunks_per_row() const {
    return int(packed_row_stride(reader_.cols(), sizeof(Element)) / ChunkReader<Element>::kCount);
  }
  __device__ __forceinline__ long long chunks() const {
    return static_cast<long long>(reader_.rows()) * chunks_per_row();
  }

  ChunkReader<Element> reader_;
  Element* to_;
};

}  // namespace tilesmith
