// Rows of sums in shared memory to C, by kStoringWarps warps. In vectors, where C's rows start at 16-byte boundaries;
// else an element a lane, row by row, so that a warp's elements are neighbours and a row's address is made once.
//   `get(row, col, sums)` fetches kStoredVector of them, `get_one(row, col)` one; `row_of` is a row's place in C
//   kBlend   β is not 0
#pragma once

#include "kernels/shared/store/destination.cuh"

namespace tilesmith {

// Whole sums of C[m][n .. n + Count), with the epilogue unless they have been through it.
template <bool kBlend, int Count>
__device__ __forceinline__ void store_run(
    const Destination& to, const Destination& over, int m, int n, const Held<Count>& held, Accumulator (&sums)[Count]) {
  if (kHasEpilogue && !to.is_fused()) to.scale_run(m, n, sums);
  if constexpr (kBlend) to.take(held, sums);
  if (kHasEpilogue && !to.is_fused()) to.template fuse_run<kBlend>(m, n, sums);
  over.store(m, n, sums);
}

template <bool kBlend, int kRows, int kCols, int kStoringWarps, typename Get, typename GetOne, typename RowOf>
__device__ __forceinline__ void store_rows_by(const Destination& to, int n0, Get get, GetOne get_one, RowOf row_of) {
  const Destination over = kHasEpilogue ? to.behind_epilogue() : kBlend ? to.over() : to;
  if (__builtin_expect(to.takes_vectors(), 1)) {
    constexpr int kRunsPerRow = kCols / kStoredVector, kRuns = kRows * kRunsPerRow, kStep = 32 * kStoringWarps;
    constexpr int kTurns = (kRuns + kStep - 1) / kStep, kAtATime = kTurns < 4 ? kTurns : 4;
    const int thread = int(threadIdx.x % kStep);
#pragma unroll 1
    for (int first = thread; first < kRuns; first += kAtATime * kStep) {
      Held<kStoredVector> held[kAtATime];
      if constexpr (kBlend) {
#pragma unroll
        for (int b = 0; b < kAtATime; ++b) {
          const int run = first + b * kStep, row = run / kRunsPerRow, col = run % kRunsPerRow * kStoredVector;
          const int left = run < kRuns ? to.left(row_of(row), n0 + col) : 0;
          const Stored* const from = to.held_at(row_of(row), n0 + col);
          if (left >= kStoredVector) {
            held[b].load(from);
          } else {
#pragma unroll
            for (int e = 0; e < kStoredVector - 1; ++e) {
              if (e < left) held[b].set(e, from[e]);
            }
          }
        }
      }
#pragma unroll
      for (int b = 0; b < kAtATime; ++b) {
        const int run = first + b * kStep, row = run / kRunsPerRow, col = run % kRunsPerRow * kStoredVector;
        if (kRuns % (kAtATime * kStep) != 0 && run >= kRuns) break;
        Accumulator sums[kStoredVector];
        get(row, col, sums);
        store_run<kBlend>(to, over, row_of(row), n0 + col, held[b], sums);
      }
    }
  } else {
    constexpr int kTurns = (kCols + 31) / 32;
    constexpr int kRowsAtATime = kBlend ? 1 : 2;
    const int lane = int(threadIdx.x % 32);
#pragma unroll kRowsAtATime
    for (int row = int(threadIdx.x / 32 % kStoringWarps); row < kRows; row += kStoringWarps) {
      const int m = row_of(row);
      Held<1> held[kTurns];
      if constexpr (kBlend) {
#pragma unroll
        for (int turn = 0; turn < kTurns; ++turn) {
          const int col = turn * 32 + lane;
          if (col < kCols && to.left(m, n0 + col) > 0) held[turn].load(to.held_at(m, n0 + col));
        }
      }
#pragma unroll
      for (int turn = 0; turn < kTurns; ++turn) {
        const int col = turn * 32 + lane;
        if (col >= kCols) break;
        Accumulator one[1] = {get_one(row, col)};
        store_run<kBlend>(to, over, m, n0 + col, held[turn], one);
      }
    }
  }
}

// With α and, where it is not 0, β.
template <int kRows, int kCols, int kStoringWarps, typename Get, typename GetOne, typename RowOf>
__device__ __forceinline__ void store_rows(const Destination& to, int n0, Get get, GetOne get_one, RowOf row_of) {
  if (!kBlends || __builtin_expect(to.overwrites(), 1)) {
    store_rows_by<false, kRows, kCols, kStoringWarps>(to, n0, get, get_one, row_of);
  } else {
    store_rows_by<true, kRows, kCols, kStoringWarps>(to, n0, get, get_one, row_of);
  }
}

}  // namespace tilesmith
