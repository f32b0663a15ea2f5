// From sums of swapped operands straight to C where an element has 16 bits, 8 bytes a store. Matrices of 8×8 are
// transposed among a warp's lanes, and two that lie side by side traded within pairs of lanes.
//
//   a thread has   two rows of C, one column of each of two matrices      (swapped_store.cuh: 2 bytes a store, 16 of a row by 8 lanes)
//   transposed     one row, two neighbours of each
//   traded         one row, four neighbours: a store of the warp covers 32 bytes of each of eight rows
#pragma once

#include "kernels/shared/store/traded_store.cuh"

namespace tilesmith {

__device__ __forceinline__ unsigned transposed(unsigned words) {
  unsigned result;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(words));
  return result;
}

template <typename Sums>
constexpr bool kTransposes = sizeof(Stored) == 2 && Sums::kInPairs && !Sums::kRowPairs && !kAtomicAdds;

// Where rows of C consist of whole runs of four.
template <typename Sums>
__device__ __forceinline__ void store_transposed(const Sums& sums, const Destination& to, int m0, int n0) {
  int lane = int(threadIdx.x % 32);
  asm volatile("" : "+r"(lane), "+r"(m0), "+r"(n0));  // what is derived from them is not computed ahead, beside all the sums
  const int column = lane % 2 * 8 + lane % 4 / 2 * 4, m = m0 + lane / 4, n = n0 + column;
  const int rows_left = to.rows() - m, cols_left = to.cols() - n;
  Stored* at = to.place(m, n);
#pragma unroll
  for (int run = 0; run < Sums::kColumns / 8; ++run) {
#pragma unroll
    for (int i = 0; i < Sums::kRowGroups; ++i) {
      unsigned pair[2][1];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const Accumulator both[2] = {sums.sum(i, r, run, 0), sums.sum(i, r, run, 1)};
        Run<Stored, 2> finished;
        to.finish(both, finished.x);
        pair[r][0] = transposed(*reinterpret_cast<const unsigned*>(&finished));
      }
      Run<Stored, 4> four;
      trade<1>(pair[0], pair[1], *reinterpret_cast<unsigned(*)[2]>(&four), lane);
      if (8 * run < rows_left && Sums::row_of(i, 0, 0) < cols_left) put_run(at + Sums::row_of(i, 0, 0), four.x);
    }
    at += 8 * to.stride();
  }
}

}  // namespace tilesmith
