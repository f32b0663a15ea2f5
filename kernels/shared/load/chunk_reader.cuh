// Reads an operand whose rows may start anywhere in chunks of 16 bytes, for the packing passes.
#pragma once

#include "kernels/shared/load/pass_layout.cuh"

namespace tilesmith {

// What is known beforehand of chunks that are read together.
enum class Chunks {
  any,  // nothing: the blocks that they are read by may reach over the operand's ends, where there may be no memory
  readable,  // of rows of the operand, whose ends they may reach over; the blocks lie inside
  inside,    // nor do they reach over those
};

// An operand [rows, cols] of row stride ld, read in chunks of 16 bytes that may start anywhere: by the one or two
// aligned blocks of 16 bytes that they lie in.
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
  // Whether a block of the chunk that begins there may reach over the operand's first or last element. Elsewhere there
  // are, on either side, as many elements as a chunk has, if a row has so many.
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

}  // namespace tilesmith
