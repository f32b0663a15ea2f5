// The packing pass: copies operands whose rows start at odd addresses into the workspace, where every row starts at a
// multiple of 128 bytes. A first, then B; some chunks of 16 bytes a thread, whose loads are all under way together.
#pragma once

#include "kernels/common/gemm_args.cuh"
#include "kernels/mma/packed_rows.cuh"

namespace tilesmith {

constexpr int kPackThreads = 128;
constexpr int kPackChunks = 4;  // a thread
constexpr int kPackedChunkBytes = 16;

template <typename Element, int Count>
struct alignas(kPackedChunkBytes) PackedChunk {
  Element x[Count];
};

// One operand [rows, cols], row stride ld, and its packed copy.
template <typename Element>
class PackedOperand {
  static constexpr int kCount = kPackedChunkBytes / int(sizeof(Element));

 public:
  __device__ __forceinline__ PackedOperand(const void* from, long long ld, int rows, int cols, Element* to)
      : from_(static_cast<const Element*>(from)),
        to_(to),
        ld_(ld),
        rows_(rows),
        cols_(cols),
        chunks_per_row_(int(packed_row_stride(cols, sizeof(Element)) / kCount)) {}

  __device__ __forceinline__ long long chunks() const { return static_cast<long long>(rows_) * chunks_per_row_; }

  // Of the elements [col, col + kCount) of a row; beyond the row's end they are zeros.
  struct Chunk {
    const Element* source;
    int row, col;
    unsigned words[5];  // that cover the chunk, if `by_words`
    bool by_words;
  };

  __device__ __forceinline__ Chunk load(long long number) const {
    Chunk chunk;
    // A 64-bit division takes as long as the copy: only where the operand has so many chunks.
    chunk.row =
        number <= 0xffffffffll ? int(unsigned(number) / unsigned(chunks_per_row_)) : int(number / chunks_per_row_);
    chunk.col = int(number - static_cast<long long>(chunk.row) * chunks_per_row_) * kCount;
    chunk.source = from_ + chunk.row * ld_ + chunk.col;
    // Words reach over a chunk that does not start at one: over the operand's own ends they must not.
    const bool at_an_end =
        (chunk.row == 0 && chunk.col == 0) || (chunk.row == rows_ - 1 && chunk.col + 2 * kCount > cols_);
    chunk.by_words = chunk.col + kCount <= cols_ && (skew(chunk) == 0 || !at_an_end);
    if (chunk.by_words) {
      const unsigned* words =
          reinterpret_cast<const unsigned*>(reinterpret_cast<unsigned long long>(chunk.source) - skew(chunk));
#pragma unroll
      for (int i = 0; i < 5; ++i) chunk.words[i] = i < 4 || skew(chunk) != 0 ? words[i] : 0;
    }
    return chunk;
  }

  __device__ __forceinline__ void store(const Chunk& chunk) const {
    Element* to = to_ + chunk.row * packed_row_stride(cols_, sizeof(Element)) + chunk.col;
    if (chunk.by_words) {
      const unsigned bits = skew(chunk) * 8;
      const unsigned(&w)[5] = chunk.words;
      *reinterpret_cast<uint4*>(to) = make_uint4(__funnelshift_r(w[0], w[1], bits), __funnelshift_r(w[1], w[2], bits),
                                                 __funnelshift_r(w[2], w[3], bits), __funnelshift_r(w[3], w[4], bits));
    } else {
      PackedChunk<Element, kCount> out;
#pragma unroll
      for (int i = 0; i < kCount; ++i) out.x[i] = chunk.col + i < cols_ ? chunk.source[i] : Element(0);
      *reinterpret_cast<PackedChunk<Element, kCount>*>(to) = out;
    }
  }

 private:
  // Bytes from the start of a word to the chunk's.
  static __device__ __forceinline__ unsigned skew(const Chunk& chunk) {
    return unsigned(reinterpret_cast<unsigned long long>(chunk.source) % 4);
  }

  const Element* from_;
  Element* to_;
  long long ld_;
  int rows_, cols_, chunks_per_row_;
};

// A block's share of an operand's chunks, [first, first + kPackThreads * kPackChunks).
template <typename Element>
__device__ __forceinline__ void pack_share(const PackedOperand<Element>& operand, long long first) {
  typename PackedOperand<Element>::Chunk chunks[kPackChunks];
#pragma unroll
  for (int i = 0; i < kPackChunks; ++i) {
    const long long number = first + i * kPackThreads + threadIdx.x;
    if (number < operand.chunks()) chunks[i] = operand.load(number);
  }
#pragma unroll
  for (int i = 0; i < kPackChunks; ++i) {
    const long long number = first + i * kPackThreads + threadIdx.x;
    if (number < operand.chunks()) operand.store(chunks[i]);
  }
}

// Packs A, B or both into the workspace. The grid has blocks enough for each operand's shares, A's first.
template <typename Element, bool TransA, bool TransB, bool PackA, bool PackB>
__device__ __forceinline__ void pack_operands(const GemmArgs& args) {
  if (args.k == 0) return;  // nothing is read, so nothing is packed
  constexpr long long kShare = kPackThreads * kPackChunks;
  long long share = blockIdx.x;
  Element* to = static_cast<Element*>(args.workspace);
  if constexpr (PackA) {
    const int rows = TransA ? args.k : args.m, cols = TransA ? args.m : args.k;
    const PackedOperand<Element> a(args.a, args.lda, rows, cols, to);
    const long long shares = (a.chunks() + kShare - 1) / kShare;
    if (share < shares) {
      pack_share(a, share * kShare);
      return;
    }
    share -= shares;
    to += packed_bytes(rows, cols, sizeof(Element)) / sizeof(Element);
  }
  if constexpr (PackB) {
    const int rows = TransB ? args.n : args.k, cols = TransB ? args.k : args.n;
    pack_share(PackedOperand<Element>(args.b, args.ldb, rows, cols, to), share * kShare);
  }
}

}  // namespace tilesmith
