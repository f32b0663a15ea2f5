// The sums' way to C, or to the workspace, straight from registers: a thread's pieces are runs of four columns, and a
// warp's of one row lie side by side.
#pragma once

#include "kernels/ffma/main_loop.cuh"

namespace tilesmith {

template <int Run>
__device__ __forceinline__ Accumulator (&run_of(Sums& sums, int row, int run))[Run] {
  return reinterpret_cast<Accumulator(&)[Run]>(sums.x[row][run * Run]);
}

// Adds what the slices' warps have to the first slice's sums. `shared`: the stages, which nothing reads or fills any
// more.
__device__ __forceinline__ void add_slices(Sums& sums, const ThreadPlace& place, Accumulator* shared) {
  if constexpr (kSliceK > 1) {
    constexpr int kRuns = kThreadM * kPiecesN;
    float4* runs = reinterpret_cast<float4*>(shared);
    const int thread = int(threadIdx.x) % kThreadsOfSlice;
    async_wait<0>();
    __syncthreads();
    const auto place_of = [&](int slice, int run) {
      return runs + ((slice - 1) * kRuns + run) * kThreadsOfSlice + thread;
    };
    if (place.slice > 0) {
#pragma unroll
      for (int r = 0; r < kRuns; ++r) {
        const Accumulator* x = &sums.x[r / kPiecesN][r % kPiecesN * kPiece];
        *place_of(place.slice, r) = make_float4(x[0], x[1], x[2], x[3]);
      }
    }
    __syncthreads();
    if (place.slice > 0) return;
#pragma unroll
    for (int slice = 1; slice < kSliceK; ++slice) {
#pragma unroll
      for (int r = 0; r < kRuns; ++r) {
        const float4 other = *place_of(slice, r);
        Accumulator* x = &sums.x[r / kPiecesN][r % kPiecesN * kPiece];
        x[0] += other.x;
        x[1] += other.y;
        x[2] += other.z;
        x[3] += other.w;
      }
    }
  }
}

// Rows of the thread's tile that are loaded, blended and stored together, where β is not 0: as many as there are
// registers for.
constexpr int kRowsAtATime = kThreadN <= 8 ? 4 : 2;

// By runs of so many columns, each wholly inside C or outside.
template <int Run>
__device__ __forceinline__ void store_by(Sums& sums, const Destination& to, int m0, int n0) {
  constexpr int kRuns = kThreadN / Run;
  const Destination before = kBlends ? to.over() : to,
                    over = kHasEpilogue && kBlends ? before.behind_epilogue() : before;
#pragma unroll
  for (int first = 0; first < kThreadM; first += kRowsAtATime) {
    asm volatile("" : "+r"(m0), "+r"(n0));  // what is derived from them is not computed ahead, beside all the sums
    if constexpr (kHasEpilogue && kBlends) {
#pragma unroll
      for (int i = 0; i < kRowsAtATime; ++i) {
#pragma unroll
        for (int r = 0; r < kRuns; ++r)
          to.scale_run(m0 + row_of(first + i), n0 + column_of(r * Run), run_of<Run>(sums, first + i, r));
      }
    }
    if (kBlends && !to.overwrites()) {
      Held<Run> held[kRowsAtATime][kRuns];
#pragma unroll
      for (int i = 0; i < kRowsAtATime; ++i) {
#pragma unroll
        for (int r = 0; r < kRuns; ++r) {
          const int m = m0 + row_of(first + i), n = n0 + column_of(r * Run);
          if (to.left(m, n) > 0) held[i][r].load(to.held_at(m, n));
        }
      }
#pragma unroll
      for (int i = 0; i < kRowsAtATime; ++i) {
#pragma unroll
        for (int r = 0; r < kRuns; ++r) to.take(held[i][r], run_of<Run>(sums, first + i, r));
      }
    }
#pragma unroll
    for (int i = 0; i < kRowsAtATime; ++i) {
#pragma unroll
      for (int r = 0; r < kRuns; ++r) {
        const int m = m0 + row_of(first + i), n = n0 + column_of(r * Run);
        if constexpr (kHasEpilogue && kBlends) before.fuse_run<false>(m, n, run_of<Run>(sums, first + i, r));
        if constexpr (kAtomicAdds) {
          over.store(m, n, run_of<Run>(sums, first + i, r));
        } else {
          if (over.left(m, n) > 0) over.put(over.place(m, n), run_of<Run>(sums, first + i, r));
        }
      }
    }
  }
}

// (m0, n0): where the thread's tile lies in C.
__device__ __forceinline__ void store(Sums& sums, const Destination& to, int m0, int n0) {
  if (to.is_whole_runs<kPiece>()) {
    store_by<kPiece>(sums, to, m0, n0);
  } else {
    store_by<1>(sums, to, m0, n0);
  }
}

}  // namespace tilesmith
