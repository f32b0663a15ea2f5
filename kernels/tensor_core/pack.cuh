// Packing passes: copies of operands in the workspace whose rows start at multiples of 128 bytes. A block does a share of one
// operand, A's shares first; a thread has several loads under way together.
#pragma once

#include "kernels/common/gemm_args.cuh"
#include "kernels/tensor_core/pass_layout.cuh"

#ifdef TILESMITH_BATCH
#include "kernels/common/batch.cuh"
#endif
#ifdef TILESMITH_GATED
#include "kernels/tensor_core/paired_columns.cuh"
#endif
#ifdef TILESMITH_THREE_PRODUCTS
#include "kernels/tensor_core/split.cuh"
#endif

namespace tilesmith {

// What is known beforehand of chunks that are read together.
enum class Chunks {
  any,  // nothing: the blocks that they are read by may reach over the operand's ends, where there may be no memory
  readable,  // of rows of the operand, whose ends they may reach over; the blocks lie inside
  inside,    // nor do they reach over those
};

// An operand [rows, cols] of row stride ld, read in chunks of 16 bytes that may start anywhere: by the one or two aligned
// blocks of 16 bytes that they lie in.
template <typename Element>
class ChunkReader {
  static constexpr int kSize = int(sizeof(Element));
  using Address = unsigned long long;

 public:
  static constexpr int kCount = kPackedChunkBytes / kSize;  // elements of a chunk

  __device__ __forceinline__ ChunkReader(const void* from, long long ld, int rows, int cols)
      : from_(reinterpret_cast<Address>(from)),
        ld_(ld),
        rows_(rows),
        cols_(cols),
        aligned_((from_ | ld * kSize) % kPackedChunkBytes == 0) {}

  __device__ __forceinline__ int rows() const { return rows_; }
  __device__ __forceinline__ int cols() const { return cols_; }

  struct Chunk {
    uint4 first = make_uint4(0, 0, 0, 0), second = make_uint4(0, 0, 0, 0);  // blocks
    int bytes = 0;                                                          // of the chunk that lie inside the operand
    unsigned skew = 0;                                                      // of them, where in the first block
  };

  // Whether all chunks of the rows are Chunks::readable.
  __device__ __forceinline__ bool readable(int first_row, int last_row) const {
    return cols_ >= kCount && last_row < rows_ - 1 && !near_start(first_row, 0);
  }
  // Whether those of [row, row + rows) x [col, col + cols) are Chunks::inside; `col` is where a chunk begins.
  __device__ __forceinline__ bool inside(int row, int col, int rows, int cols) const {
    return row + rows <= rows_ && col + cols <= cols_ && !near_start(row, col) &&
           !near_end(row + rows - 1, col + cols - kCount);
  }

  // Starts to read [col, col + kCount) of a row.
  template <Chunks Known>
  __device__ __forceinline__ Chunk load(int row, int col) const {
    Chunk chunk;
    if (Known == Chunks::any && row >= rows_) return chunk;
    if (Known != Chunks::inside && col >= cols_) return chunk;
    chunk.bytes = Known == Chunks::inside ? kPackedChunkBytes : min(cols_ - col, kCount) * kSize;
    const Address source = from_ + (row * ld_ + col) * kSize;
    if (Known == Chunks::any && (cols_ < kCount || near_start(row, col) || near_end(row, col))) {
      chunk.first = one_by_one(source, chunk.bytes);
      return chunk;
    }
    chunk.skew = aligned_ ? 0 : unsigned(source) % kPackedChunkBytes;
    const uint4* block = reinterpret_cast<const uint4*>(source - chunk.skew);
    chunk.first = __ldg(block);
    if (int(chunk.skew) + chunk.bytes > kPackedChunkBytes) chunk.second = __ldg(block + 1);
    return chunk;
  }

  // What was read; zeros beyond the operand's ends.
  __device__ __forceinline__ uint4 value(const Chunk& chunk) const {
    unsigned w[8] = {chunk.first.x,  chunk.first.y,  chunk.first.z,  chunk.first.w,
                     chunk.second.x, chunk.second.y, chunk.second.z, chunk.second.w};
    if (!aligned_) {
#pragma unroll
      for (int i = 0; i < 6; ++i) w[i] = (chunk.skew & 8) != 0 ? w[i + 2] : w[i];
#pragma unroll
      for (int i = 0; i < 5; ++i) w[i] = (chunk.skew & 4) != 0 ? w[i + 1] : w[i];
#pragma unroll
      for (int i = 0; i < 4; ++i) w[i] = __funnelshift_r(w[i], w[i + 1], chunk.skew % 4 * 8);
    }
    if (chunk.bytes < kPackedChunkBytes) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int outside = min(max(4 * (i + 1) - chunk.bytes, 0), 4);  // bytes of the word
        w[i] &= __funnelshift_rc(~0u, 0, 8 * outside);
      }
    }
    return make_uint4(w[0], w[1], w[2], w[3]);
  }

 private:
  // Whether a block of the chunk that begins there may reach over the operand's first or last element. Elsewhere there are, on
  // either side, as many elements as a chunk has, if a row has so many.
  __device__ __forceinline__ bool near_start(int row, int col) const {
    return row == 0 && col == 0 && from_ % kPackedChunkBytes != 0;
  }
  __device__ __forceinline__ bool near_end(int row, int col) const {
    return row == rows_ - 1 && col + 2 * kCount > cols_;
  }

  static __device__ __forceinline__ uint4 one_by_one(Address source, int bytes) {
    struct alignas(kPackedChunkBytes) Elements {
      Element x[kCount];
    } out;
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      out.x[i] = i * kSize < bytes ? reinterpret_cast<const Element*>(source)[i] : Element(0);
    return *reinterpret_cast<const uint4*>(&out);
  }

  Address from_;
  long long ld_;
  int rows_, cols_;
  bool aligned_;  // every row's chunks, so that each is one block
};

#ifdef TILESMITH_GATED
// Where row n of `rows` lies in a packed copy; kPaired: of B, K-major, in the order of paired_columns.cuh. Places of pairs that are not there are
// not written: what a GEMM makes of them is not stored.
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
#endif

#ifdef TILESMITH_THREE_PRODUCTS
// Packed copies of f32: one, as it is, or two, split (split.cuh). Of each line of 128 bytes the big ones, then the small ones.
constexpr int kLineElements = kPackedRowAlignBytes / int(sizeof(Operand));

template <int kCopies>
__device__ __forceinline__ long long packed_offset(long long stride, int row, int col) {
  return row * (kCopies * stride) + col + (kCopies - 1) * (col / kLineElements * kLineElements);
}
template <int kCopies>
__device__ __forceinline__ void put_chunk(Operand* to, const uint4& chunk) {
  if constexpr (kCopies == 1) {
    *reinterpret_cast<uint4*>(to) = chunk;
  } else {
    const Split x = split(chunk.x), y = split(chunk.y), z = split(chunk.z), w = split(chunk.w);
    *reinterpret_cast<uint4*>(to) = make_uint4(x.big, y.big, z.big, w.big);
    *reinterpret_cast<uint4*>(to + kLineElements) =
        make_uint4(x.small & kTf32Bits, y.small & kTf32Bits, z.small & kTf32Bits, w.small & kTf32Bits);
  }
}
#endif

// The operand as it is stored.
#ifdef TILESMITH_GATED
template <typename Element, bool kPaired = false>
#else
#ifdef TILESMITH_THREE_PRODUCTS
template <typename Element, int kCopies = 1>
#else
template <typename Element>
#endif
#endif
class AlignedCopy {
 public:
  __device__ __forceinline__ AlignedCopy(const void* from, long long ld, int rows, int cols, Element* to)
      : reader_(from, ld, rows, cols), to_(to) {}

  __device__ __forceinline__ long long elements() const {
#ifdef TILESMITH_GATED
    return packed_bytes(packed_rows<kPaired>(reader_.rows()), reader_.cols(), sizeof(Element)) / sizeof(Element);
#else
#ifdef TILESMITH_THREE_PRODUCTS
    return kCopies * packed_bytes(reader_.rows(), reader_.cols(), sizeof(Element)) / sizeof(Element);
#else
    return packed_bytes(reader_.rows(), reader_.cols(), sizeof(Element)) / sizeof(Element);
#endif
#endif
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
#ifdef TILESMITH_GATED
      to[i] = to_ + packed_row<kPaired>(row, reader_.rows()) * packed_row_stride(reader_.cols(), sizeof(Element)) + col;
#else
#ifdef TILESMITH_THREE_PRODUCTS
      to[i] = to_ + packed_offset<kCopies>(packed_row_stride(reader_.cols(), sizeof(Element)), row, col);
#else
      to[i] = to_ + row * packed_row_stride(reader_.cols(), sizeof(Element)) + col;
#endif
#endif
      if (Known == Chunks::any && row >= reader_.rows()) to[i] = nullptr;
    }
#pragma unroll
    for (int i = 0; i < kPackChunks; ++i) {
#ifdef TILESMITH_THREE_PRODUCTS
      if (Known != Chunks::any || to[i] != nullptr) put_chunk<kCopies>(to[i], reader_.value(read[i]));
#else
      if (Known != Chunks::any || to[i] != nullptr) *reinterpret_cast<uint4*>(to[i]) = reader_.value(read[i]);
#endif
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

#ifndef TILESMITH_BATCH
// Packs A, B or both into the workspace, each by its kind of copy. The grid has a block for each share.
template <typename CopyA, typename CopyB>
__device__ __forceinline__ void pack_operands(const GemmArgs& args) {
  if (args.k == 0) return;  // nothing is read, so nothing is packed
  unsigned share = blockIdx.x;
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
#else
// Packs an entry's A, B or both into the workspace, each by its kind of copy: all entries' A one behind the other, then all B. What all
// entries read is packed with the first.
template <typename CopyA, typename CopyB>
__device__ __forceinline__ void pack_operands(const GemmArgs& batch) {
  if (batch.k == 0 || is_beyond_batch(batch)) return;
  const long long entry = entry_of_grid();
  const GemmArgs args = matrices_of_entry(batch, entry);
  const int a_rows = kTransA ? args.k : args.m, a_cols = kTransA ? args.m : args.k;
  const int b_rows = kTransB ? args.n : args.k, b_cols = kTransB ? args.k : args.n;
  unsigned share = blockIdx.x;
  Operand* to = static_cast<Operand*>(args.workspace);
  if constexpr ((kPack & 1) != 0) {
    const bool shared = batch.stride_a == 0;
    const long long elements = CopyA(args.a, args.lda, a_rows, a_cols, to).elements();
    const CopyA a(args.a, args.lda, a_rows, a_cols, to + (shared ? 0 : entry * elements));
    if (share < a.shares()) {
      if (!shared || entry == 0) a.copy(share);
      return;
    }
    share -= a.shares();
    to += (shared ? 1 : batch.batch) * elements;
  }
  if constexpr ((kPack & 2) != 0) {
    const bool shared = batch.stride_b == 0;
    if (shared && entry != 0) return;
    const long long elements = CopyB(args.b, args.ldb, b_rows, b_cols, to).elements();
    CopyB(args.b, args.ldb, b_rows, b_cols, to + entry * elements).copy(share);
  }
}
#endif

}  // namespace tilesmith
