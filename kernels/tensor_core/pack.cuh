// Packing passes: copies of operands in the workspace whose rows start at multiples of 128 bytes. A block does a share of one
// operand, A's shares first; a thread has several loads under way together.
#pragma once

#include "kernels/common/gemm_args.cuh"
#include "kernels/tensor_core/packed_rows.cuh"
#include "kernels/tensor_core/tf32.cuh"

namespace tilesmith {

constexpr int kPackThreads = 128;
constexpr int kPackChunks = 4;  // a thread
constexpr int kPackedChunkBytes = 16;

// An operand [rows, cols] of row stride ld, read in chunks of 16 bytes that may start anywhere.
template <typename Element>
class ChunkReader {
 public:
  static constexpr int kCount = kPackedChunkBytes / int(sizeof(Element));  // elements of a chunk

  __device__ __forceinline__ ChunkReader(const void* from, long long ld, int rows, int cols)
      : from_(static_cast<const Element*>(from)),
        ld_(ld),
        rows_(rows),
        cols_(cols),
        aligned_((reinterpret_cast<unsigned long long>(from) | ld * sizeof(Element)) % kPackedChunkBytes == 0) {}

  __device__ __forceinline__ int rows() const { return rows_; }
  __device__ __forceinline__ int cols() const { return cols_; }

  struct Chunk {
    const Element* source;
    int col;
    unsigned words[5];  // that cover the chunk, if `by_words`
    bool by_words;
  };

  // Starts to read [col, col + kCount) of a row.
  __device__ __forceinline__ Chunk load(int row, int col) const {
    Chunk chunk;
    chunk.col = col;
    chunk.source = from_ + row * ld_ + col;
    // Words reach over a chunk that does not start at one: over the operand's own ends they must not.
    const bool at_an_end = (row == 0 && col == 0) || (row == rows_ - 1 && col + 2 * kCount > cols_);
    chunk.by_words = row < rows_ && col + kCount <= cols_ && (skew(chunk) == 0 || !at_an_end);
    if (row >= rows_) chunk.col = cols_;  // nothing of it lies inside
    if (chunk.by_words && aligned_) {
      const uint4 words = *reinterpret_cast<const uint4*>(chunk.source);
      chunk.words[0] = words.x, chunk.words[1] = words.y, chunk.words[2] = words.z, chunk.words[3] = words.w;
      chunk.words[4] = 0;
    } else if (chunk.by_words) {
      const unsigned* words =
          reinterpret_cast<const unsigned*>(reinterpret_cast<unsigned long long>(chunk.source) - skew(chunk));
#pragma unroll
      for (int i = 0; i < 5; ++i) chunk.words[i] = i < 4 || skew(chunk) != 0 ? words[i] : 0;
    }
    return chunk;
  }

  // What was read; zeros beyond the operand's ends.
  __device__ __forceinline__ uint4 value(const Chunk& chunk) const {
    if (chunk.by_words) {
      const unsigned bits = skew(chunk) * 8;
      const unsigned(&w)[5] = chunk.words;
      return make_uint4(__funnelshift_r(w[0], w[1], bits), __funnelshift_r(w[1], w[2], bits),
                        __funnelshift_r(w[2], w[3], bits), __funnelshift_r(w[3], w[4], bits));
    }
    struct alignas(kPackedChunkBytes) Elements {
      Element x[kCount];
    } out;
#pragma unroll
    for (int i = 0; i < kCount; ++i) out.x[i] = chunk.col + i < cols_ ? chunk.source[i] : Element(0);
    return *reinterpret_cast<const uint4*>(&out);
  }

 private:
  // Bytes from the start of a word to the chunk's.
  static __device__ __forceinline__ unsigned skew(const Chunk& chunk) {
    return unsigned(reinterpret_cast<unsigned long long>(chunk.source) % 4);
  }

  const Element* from_;
  long long ld_;
  int rows_, cols_;
  bool aligned_;  // every row's chunks, so that each is one load
};

template <bool Round>
__device__ __forceinline__ uint4 rounded_if(uint4 words) {
  if constexpr (!Round) {
    return words;
  } else {
    return make_uint4(rounded_to_tf32(words.x), rounded_to_tf32(words.y), rounded_to_tf32(words.z),
                      rounded_to_tf32(words.w));
  }
}

// The operand as it is stored; Round: words become tf32.
template <typename Element, bool Round>
class AlignedCopy {
 public:
  __device__ __forceinline__ AlignedCopy(const void* from, long long ld, int rows, int cols, Element* to)
      : reader_(from, ld, rows, cols), to_(to) {}

  __device__ __forceinline__ long long elements() const {
    return packed_bytes(reader_.rows(), reader_.cols(), sizeof(Element)) / sizeof(Element);
  }
  __device__ __forceinline__ long long shares() const { return (chunks() + kShare - 1) / kShare; }

  __device__ __forceinline__ void copy(long long share) const {
    typename ChunkReader<Element>::Chunk read[kPackChunks];
    Element* to[kPackChunks];
    const int per_row = chunks_per_row();
#pragma unroll
    for (int i = 0; i < kPackChunks; ++i) {
      const long long number = share * kShare + i * kPackThreads + threadIdx.x;
      if (number >= chunks()) continue;
      // A 64-bit division takes as long as the copy: only where the operand has so many chunks.
      const int row = number <= 0xffffffffll ? int(unsigned(number) / unsigned(per_row)) : int(number / per_row);
      const int col = int(number - static_cast<long long>(row) * per_row) * ChunkReader<Element>::kCount;
      to[i] = to_ + row * packed_row_stride(reader_.cols(), sizeof(Element)) + col;
      read[i] = reader_.load(row, col);
    }
#pragma unroll
    for (int i = 0; i < kPackChunks; ++i) {
      const long long number = share * kShare + i * kPackThreads + threadIdx.x;
      if (number < chunks()) *reinterpret_cast<uint4*>(to[i]) = rounded_if<Round>(reader_.value(read[i]));
    }
  }

 private:
  static constexpr long long kShare = kPackThreads * kPackChunks;

  __device__ __forceinline__ int chunks_per_row() const {
    return int(packed_row_stride(reader_.cols(), sizeof(Element)) / ChunkReader<Element>::kCount);
  }
  __device__ __forceinline__ long long chunks() const {
    return static_cast<long long>(reader_.rows()) * chunks_per_row();
  }

  ChunkReader<Element> reader_;
  Element* to_;
};

// Packs A, B or both into the workspace, each by its kind of copy. The grid has a block for each share.
template <typename CopyA, typename CopyB>
__device__ __forceinline__ void pack_operands(const GemmArgs& args) {
  if (args.k == 0) return;  // nothing is read, so nothing is packed
  long long share = blockIdx.x;
  Operand* to = static_cast<Operand*>(args.workspace);
  if constexpr ((kPack & 1) != 0) {
    const CopyA a(args.a, args.lda, kTransA ? args.k : args.m, kTransA ? args.m : args.k, to);
    if (share < a.shares()) {
      a.copy(share);
      return;
    }
    share -= a.shares();
    to += a.elements();
  }
  if constexpr ((kPack & 2) != 0) {
    CopyB(args.b, args.ldb, kTransB ? args.n : args.k, kTransB ? args.k : args.n, to).copy(share);
  }
}

}  // namespace tilesmith
