// Straight from registers to C where operands are swapped. A warp's sums lie along N, and their rows are dealt in words
// (fragments.cuh): a thread has pairs of neighbours, of which a store of the warp puts two 32-byte pieces into each of four rows
// of C (of 4-byte results). Every thread goes down its rows by one pointer; what it has of a row lies at constant distances.
#pragma once

#include "kernels/tensor_core/blend.cuh"
#include "kernels/tensor_core/warp_sums.cuh"

namespace tilesmith {

// A thread's sums of row `run`, `e`, of its i-th two columns.
template <typename Sums>
__device__ __forceinline__ void get_pair(const Sums& sums, int i, int run, int e, Accumulator (&pair)[2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    Accumulator down[Sums::kRun];
    sums.get(i, r, run, down);
    pair[r] = down[e];
  }
}

//   kVector  neighbours that are stored together: 2, or 1 where pairs of C are not whole or not aligned
//   kBlend   β is not 0: a row's loads of C are under way together
template <int kVector, bool kBlend, typename Sums>
__device__ __forceinline__ void store_pairs(const Sums& sums, const Destination& to, int m0, int n0) {
  constexpr int kOfRow = Sums::kRowGroups, kParts = 2 / kVector;
  asm volatile("" : "+r"(m0), "+r"(n0));  // what is derived from them is not computed ahead, beside all the sums
  const Destination over = kBlend ? to.over() : to;
  const int m = m0 + Sums::first_column(), n = n0 + Sums::row(0, 0);
  const int rows_left = to.rows() - m, cols_left = to.cols() - n;
  const long long stride = to.stride();
  Stored* at = to.place(m, n);
#pragma unroll
  for (int run = 0; run < Sums::kRunsPerRow; ++run) {
#pragma unroll
    for (int e = 0; e < Sums::kRun; ++e) {
      const int next = e + 1 < Sums::kRun ? e + 1 : Sums::offset(run + 1) - Sums::offset(run);
      const auto is_inside = [&](int along) { return Sums::offset(run) + e < rows_left && along < cols_left; };
      Held<kVector> held[kOfRow][kParts];
      if constexpr (kBlend) {
#pragma unroll
        for (int i = 0; i < kOfRow * kParts; ++i) {
          const int along = Sums::row_of(i / kParts, 0, 0) + i % kParts;
          if (is_inside(along)) held[i / kParts][i % kParts].load(at + along);
        }
      }
#pragma unroll
      for (int i = 0; i < kOfRow * kParts; ++i) {
        const int along = Sums::row_of(i / kParts, 0, 0) + i % kParts;
        Accumulator pair[2];
        get_pair(sums, i / kParts, run, e, pair);
        auto& part = reinterpret_cast<Accumulator(&)[kVector]>(pair[i % kParts]);
        if constexpr (kBlend) to.take(held[i / kParts][i % kParts], part);
        if (is_inside(along)) over.put(at + along, part);
      }
      at += (next - e) * stride;
    }
  }
}

// (m0, n0): where the warp's tile lies in C.
template <typename Sums>
__device__ __forceinline__ void store_swapped(const Sums& sums, const Destination& to, int m0, int n0) {
  static_assert(Sums::kSwapped, "rows of sums run along N");
  if constexpr (kAtomicAdds) {
#pragma unroll
    for (int run = 0; run < Sums::kRunsPerRow; ++run) {
#pragma unroll
      for (int e = 0; e < Sums::kRun; ++e) {
#pragma unroll
        for (int i = 0; i < Sums::kRowGroups; ++i) {
          Accumulator pair[2];
          get_pair(sums, i, run, e, pair);
          to.store(m0 + Sums::first_column() + Sums::offset(run) + e, n0 + Sums::row(i, 0), pair);
        }
      }
    }
  } else if (!kBlends || __builtin_expect(to.overwrites(), 1)) {
    if (__builtin_expect(to.is_whole_runs<2>(), 1)) {
      store_pairs<2, false>(sums, to, m0, n0);
    } else {
      store_pairs<1, false>(sums, to, m0, n0);
    }
  } else if (to.is_whole_runs<2>()) {
    store_pairs<2, true>(sums, to, m0, n0);
  } else {
    store_pairs<1, true>(sums, to, m0, n0);
  }
}

}  // namespace tilesmith
