// The gate (kIsGated) where several warps or blocks hold sums of the same elements (store_summed() in epilogue.cuh): as
// rows leave shared memory, x and y of each pair are added up and gated.
#pragma once

#include "kernels/shared/store/block_memory.cuh"
#include "kernels/shared/store/row_store.cuh"
#include "kernels/shared/load/run.cuh"

namespace tilesmith {

// (m0, pair0): where the rows begin in D. Each of kParts parts has kRows rows of kBlockN sums, in the order of
// paired_columns.cuh.
template <int kRows, int kParts, int kStoringWarps>
__device__ __forceinline__ void store_gated_rows(const Destination& to, const Accumulator* shared, int m0, int pair0) {
  constexpr int kStride = kBlockN + kSumsPad, kPart = kRows * kStride;
  const auto add_parts = [&](int row, int col, auto& run) {
    get_run(shared + row * kStride + col, run);
#pragma unroll
    for (int part = 1; part < kParts; ++part) {
      Accumulator more[sizeof(run) / sizeof(run[0])];
      get_run(shared + part * kPart + row * kStride + col, more);
#pragma unroll
      for (int e = 0; e < int(sizeof(run) / sizeof(run[0])); ++e) run[e] = added(run[e], more[e]);
    }
  };
  const auto gate_run = [&](int row, int pair, auto& x) {
    Accumulator y[sizeof(x) / sizeof(x[0])];
    const int col = pair / kPairedRun * kPairedStep + pair % kPairedRun;
    add_parts(row, col, x);
    add_parts(row, col + kPairedRun, y);
    to.gate_run(m0 + row, pair0 + pair, x, y);
  };
  // Neighbours that are stored together may be of two runs: of bytes.
  const auto gate_at = [&](int row, int pair, auto& x) {
    constexpr int kCount = sizeof(x) / sizeof(x[0]);
    if constexpr (kCount <= kPairedRun) {
      gate_run(row, pair, x);
    } else {
#pragma unroll
      for (int first = 0; first < kCount; first += kPairedRun) {
        Accumulator run[kPairedRun];
        gate_run(row, pair + first, run);
#pragma unroll
        for (int e = 0; e < kPairedRun; ++e) x[first + e] = run[e];
      }
    }
  };
  store_rows<kRows, kBlockN / 2, kStoringWarps>(
      to.behind_epilogue(), pair0, gate_at,
      [&](int row, int pair) {
        Accumulator one[1];
        gate_at(row, pair, one);
        return one[0];
      },
      [&](int row) { return m0 + row; });
}

}  // namespace tilesmith
