// Packing passes: copies of operands in the workspace whose rows start at multiples of 128 bytes. A block does a share of one
// operand, A's shares first; a thread has several loads under way together.
#pragma once

#include "kernels/common/gemm_args.cuh"
#include "kernels/tensor_core/pass_layout.cuh"

namespace tilesmith {

// An operand [rows, cols] of row stride ld, read in chunks of 16 bytes that may start anywhere: by the one or two aligned
// blocks of 16 bytes that they lie in.
template <typename Element>
class ChunkReader {
  static constexpr int kSize = int(sizeof(Element));
  using Address = unsigned long long;

 public:
  static constexpr int kCount = kPackedChunkBytes / kSize;  // elements of a chunk

  __device__ __forceinline__ ChunkReader(const void* from, long long ld, int rows, int cols)
      : from_(static_cast<const Element*>(from)),
        end_(from_ + ((rows - 1) * ld + cols)),
        ld_(ld),
        rows_(rows),
        cols_(cols),
        aligned_((reinterpret_cast<Address>(from) | ld * kSize) % kPackedChunkBytes == 0) {}

  __device__ __forceinline__ int rows() const { return rows_; }
  __device__ __forceinline__ int cols() const { return cols_; }

  struct Chunk {
    uint4 first = make_uint4(0, 0, 0, 0), second = make_uint4(0, 0, 0, 0);  // blocks
    int bytes = 0;                                                          // of the chunk that lie inside the operand
    unsigned skew = 0;                                                      // of them, where in the first block
  };

  // Starts to read [col, col + kCount) of a row.
  __device__ __forceinline__ Chunk load(int row, int col) const {
    Chunk chunk;
    if (row >= rows_ || col >= cols_) return chunk;
    chunk.bytes = min(cols_ - col, kCount) * kSize;
    const Element* source = from_ + row * ld_ + col;
    chunk.skew = aligned_ ? 0 : unsigned(reinterpret_cast<Address>(source) % kPackedChunkBytes);
    const uint4* block = reinterpret_cast<const uint4*>(reinterpret_cast<Address>(source) - chunk.skew);
    const bool both = int(chunk.skew) + chunk.bytes > kPackedChunkBytes;
    if (reinterpret_cast<Address>(block) < reinterpret_cast<Address>(from_) ||
        reinterpret_cast<Address>(block + (both ? 2 : 1)) > reinterpret_cast<Address>(end_)) {
      // A block reaches over the operand's own ends: what lies there may not be memory.
      chunk.first = one_by_one(source, chunk.bytes);
      chunk.skew = 0;
    } else {
      chunk.first = block[0];
      if (both) chunk.second = block[1];
    }
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
        const int inside = chunk.bytes - 4 * i;  // bytes of the word
        w[i] = inside >= 4 ? w[i] : inside <= 0 ? 0 : w[i] & ((1u << 8 * inside) - 1);
      }
    }
    return make_uint4(w[0], w[1], w[2], w[3]);
  }

 private:
  static __device__ __forceinline__ uint4 one_by_one(const Element* source, int bytes) {
    struct alignas(kPackedChunkBytes) Elements {
      Element x[kCount];
    } out;
#pragma unroll
    for (int i = 0; i < kCount; ++i) out.x[i] = i * kSize < bytes ? source[i] : Element(0);
    return *reinterpret_cast<const uint4*>(&out);
  }

  const Element* from_;
  const Element* end_;
  long long ld_;
  int rows_, cols_;
  bool aligned_;  // every row's chunks, so that each is one block
};

// The operand as it is stored.
template <typename Element>
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
      if (number < chunks()) *reinterpret_cast<uint4*>(to[i]) = reader_.value(read[i]);
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
