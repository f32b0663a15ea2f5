// The packing pass: copies operands whose rows start at odd addresses into the workspace, where every row starts at a
// multiple of 128 bytes. A first, then B; 16 bytes a thread.
#pragma once

#include "kernels/common/gemm_args.cuh"
#include "kernels/mma/packed_rows.cuh"

namespace tilesmith {

constexpr int kPackThreads = 256;

// 16 bytes of packed row: the elements [col, col + Count) of a row of `cols`; beyond its end zeros.
template <typename Element, int Count>
struct alignas(16) PackedChunk {
  Element x[Count];
};

// One operand [rows, cols], row stride ld. Returns false if `chunk` lies beyond it, and takes its chunks off.
template <typename Element>
__device__ __forceinline__ bool pack_chunk(long long& chunk, const Element* from, long long ld, int rows, int cols,
                                           Element* to) {
  constexpr int kCount = 16 / int(sizeof(Element));
  const long long stride = packed_row_stride(cols, sizeof(Element));
  const int chunks_per_row = int(stride / kCount);
  if (chunk >= static_cast<long long>(rows) * chunks_per_row) {
    chunk -= static_cast<long long>(rows) * chunks_per_row;
    return false;
  }
  // A 64-bit division takes as long as the copy: only where the operand has so many chunks.
  const int row = chunk <= 0xffffffffll ? int(unsigned(chunk) / unsigned(chunks_per_row)) : int(chunk / chunks_per_row);
  const int col = int(chunk - static_cast<long long>(row) * chunks_per_row) * kCount;
  const Element* source = from + row * ld + col;
  PackedChunk<Element, kCount> out;
  if (col + kCount <= cols) {
    // Whole words that cover the chunk, shifted into place: five coalesced loads instead of one an element.
    const unsigned long long address = reinterpret_cast<unsigned long long>(source);
    const unsigned skew = unsigned(address % 4);
    if (skew == 0) {
      const unsigned* words = reinterpret_cast<const unsigned*>(source);
      const uint4 whole = make_uint4(words[0], words[1], words[2], words[3]);
      *reinterpret_cast<uint4*>(to + row * stride + col) = whole;
      return true;
    }
    // The first and the last word may reach over the matrix' ends: of its very first and last chunk, element by element.
    const bool at_an_end = (row == 0 && col == 0) || (row == rows - 1 && col + 2 * kCount > cols);
    if (!at_an_end) {
      const unsigned* words = reinterpret_cast<const unsigned*>(address - skew);
      unsigned w[5];
#pragma unroll
      for (int i = 0; i < 5; ++i) w[i] = words[i];
      uint4 whole;
      whole.x = __funnelshift_r(w[0], w[1], skew * 8);
      whole.y = __funnelshift_r(w[1], w[2], skew * 8);
      whole.z = __funnelshift_r(w[2], w[3], skew * 8);
      whole.w = __funnelshift_r(w[3], w[4], skew * 8);
      *reinterpret_cast<uint4*>(to + row * stride + col) = whole;
      return true;
    }
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) out.x[i] = col + i < cols ? source[i] : Element(0);
  *reinterpret_cast<PackedChunk<Element, kCount>*>(to + row * stride + col) = out;
  return true;
}

// Packs A, B or both into the workspace. The grid has a thread for every chunk of what is packed.
template <typename Element, bool TransA, bool TransB, bool PackA, bool PackB>
__device__ __forceinline__ void pack_operands(const GemmArgs& args) {
  if (args.k == 0) return;  // nothing is read, so nothing is packed
  long long chunk = blockIdx.x * static_cast<long long>(kPackThreads) + threadIdx.x;
  Element* to = static_cast<Element*>(args.workspace);
  if constexpr (PackA) {
    const int rows = TransA ? args.k : args.m, cols = TransA ? args.m : args.k;
    if (pack_chunk(chunk, static_cast<const Element*>(args.a), args.lda, rows, cols, to)) return;
    to += packed_bytes(rows, cols, sizeof(Element)) / sizeof(Element);
  }
  if constexpr (PackB) {
    const int rows = TransB ? args.n : args.k, cols = TransB ? args.k : args.n;
    pack_chunk(chunk, static_cast<const Element*>(args.b), args.ldb, rows, cols, to);
  }
}

}  // namespace tilesmith
