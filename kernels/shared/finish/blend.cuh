// What C holds, where β is not 0: of sums that are stored straight or by boxes, taken into them before any is stored.
// Of an epilogue, where C may lie apart from D, `to` is Destination::held().
//
// A load of C takes as long as some hundred instructions, and with a store before it that may be to the same place it
// waits for that too. So all loads of a batch are under way together, as many as there are registers for, and no store
// lies between; and while the block multiplies, if it has registers for it, what C holds of its tile is brought to the
// L2.
#pragma once

#include "kernels/shared/store/destination.cuh"

namespace tilesmith {

// `thread`: this one's number of kThreads. (m0, n0): where the rows × columns begin in C.
template <int kThreads>
__device__ __forceinline__ void fetch_held(const Destination& to, int m0, int n0, int rows, int columns, int thread) {
  if constexpr (kBlends) {
    if (__builtin_expect(to.overwrites(), 1)) return;
    asm volatile("" : "+r"(m0), "+r"(n0), "+r"(thread));  // what is derived from them is not kept for the stores
    constexpr int kLine = 128 / int(sizeof(Stored));
    const int lines = (columns - 1) / kLine + 2;  // the last element's too, wherever the first one lies in its line
#pragma unroll 1
    for (int i = thread; i < rows * lines; i += kThreads) {
      const int m = m0 + i / lines, in_tile = i % lines * kLine;
      const int n = n0 + (in_tile < columns ? in_tile : columns - 1);
      if (m < to.rows() && n < to.cols()) asm volatile("prefetch.global.L2 [%0];" ::"l"(to.place(m, n)));
    }
  }
}

// Registers that a thread's sums take while they are blended; of halves each one.
template <typename Sums>
constexpr int kSumRegisters =
    Sums::kRowGroups * 2 * Sums::kRunsPerRow * Sums::kRun * (sizeof(Accumulator) < 8 ? 1 : 2);

//   kAlongN  neighbours in a row of C that are loaded together
template <int kRegisters, bool kFenced, int kAlongN, typename Sums>
__device__ __forceinline__ void blend_by(Sums& sums, const Destination& to, int m0, int n0) {
  constexpr int kLoads = Sums::kRun / kAlongN, kWords = kLoads * ((kAlongN * int(sizeof(Stored)) + 3) / 4);
  constexpr int kRows = 2 * Sums::kRowGroups, kRuns = kRows * Sums::kRunsPerRow;
  constexpr int kFit = kRegisters / kWords, kAtATime = kFit < 1 ? 1 : kFit < kRuns ? kFit : kRuns;
  // Runs of one row of C follow each other, for its address.
  const auto row_of = [](int number) { return Sums::kSwapped ? number % kRows : number / Sums::kRunsPerRow; };
  const auto run_of = [](int number) { return Sums::kSwapped ? number / kRows : number % Sums::kRunsPerRow; };
#pragma unroll
  for (int first = 0; first < kRuns; first += kAtATime) {
    asm volatile("" : "+r"(m0), "+r"(n0));  // what is derived from them is not computed ahead, beside all the sums
    if (kFenced) asm volatile("fence.acq_rel.cta;" ::: "memory");  // nor is more loaded ahead than a batch
    Held<kAlongN> held[kAtATime][kLoads];
#pragma unroll
    for (int b = 0; b < kAtATime; ++b) {
      if (first + b >= kRuns) break;
      const int along = sums.row(row_of(first + b) / 2, row_of(first + b) % 2),
                offset = Sums::offset(run_of(first + b));
#pragma unroll
      for (int e = 0; e < kLoads; ++e) {
        if constexpr (Sums::kSwapped) {
          const int m = m0 + Sums::first_column() + offset + e, n = n0 + along;
          if (to.left(m, n) > 0) held[b][e].load(to.place(m, n));
        } else {  // a pointer and constants: what C's other rows have in common is not kept beside all the sums
          const int m = m0 + along, n = n0 + Sums::first_column(), ahead = offset + e * kAlongN;
          if (to.left(m, n) > ahead) held[b][e].load(to.place(m, n) + ahead);
        }
      }
    }
#pragma unroll
    for (int b = 0; b < kAtATime; ++b) {
      if (first + b >= kRuns) break;
      const int row = row_of(first + b), run = run_of(first + b);
      Accumulator mine[Sums::kRun];
      sums.get(row / 2, row % 2, run, mine);
#pragma unroll
      for (int e = 0; e < kLoads; ++e) {
        to.take(held[b][e], reinterpret_cast<Accumulator(&)[kAlongN]>(mine[e * kAlongN]));
      }
      sums.set(row / 2, row % 2, run, mine);
    }
  }
}

template <bool kTight, bool kFenced, typename Sums>
__device__ __forceinline__ void blend(Sums& sums, const Destination& to, int m0, int n0) {
  if constexpr (kTight) {
    blend_by<8, kFenced, 1>(sums, to, m0, n0);
  } else {
    if constexpr (!Sums::kSwapped && sizeof(Stored) < 8) {  // of 8 bytes one is enough for a load
      if (to.is_whole_runs<Sums::kRun>()) return blend_by<32, false, Sums::kRun>(sums, to, m0, n0);
    }
    blend_by<32, false, 1>(sums, to, m0, n0);
  }
}

// sums ← α·sums
template <typename Sums>
__device__ __forceinline__ void scale_sums(Sums& sums, const Destination& to) {
#pragma unroll
  for (int number = 0; number < 2 * Sums::kRowGroups * Sums::kRunsPerRow; ++number) {
    const int row = number / Sums::kRunsPerRow, run = number % Sums::kRunsPerRow;
    Accumulator mine[Sums::kRun];
    sums.get(row / 2, row % 2, run, mine);
    to.multiply(mine);
    sums.set(row / 2, row % 2, run, mine);
  }
}

// store(over), after sums ← α·sums + β·C where β is not 0. (m0, n0): where the warp's tile lies in C.
//   kTight   there are few registers beside all the sums: elements are loaded one by one
//   kFenced  and no more of them ahead than a batch
// The stores are there twice, so that with β = 0 they lie right behind the products: a jump over the blending, into
// code that no cache holds yet, costs a small problem 1%. Of large tiles they are there once: twice, they take
// registers that lack.
template <bool kTight, bool kFenced, typename Sums, typename Store>
__device__ __forceinline__ void store_blended(Sums& sums, const Destination& to, int m0, int n0, Store store) {
  if (!kBlends || (!kTight && __builtin_expect(to.overwrites() && to.is_whole_vectors(), 1))) {
    store(to);
  } else {
    // α and β are registers, of f64 four that lack beside all the sums: few elements are loaded ahead, and α is taken
    // before stores.
    if constexpr (kScalarsOnDevice && kTight && sizeof(ScaleType) == 8) {
      if (to.overwrites()) {
        scale_sums(sums, to);
      } else {
        blend_by<2, kFenced, 1>(sums, to, m0, n0);
      }
      store(to.behind_epilogue());
      return;
    }
    if (!to.overwrites()) blend<kTight, kFenced>(sums, to, m0, n0);
    store(to.over());
  }
}

}  // namespace tilesmith
