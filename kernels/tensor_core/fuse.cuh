// Where the epilogue is not linear: what it does besides α and β, on a warp's sums before any is stored, so that every way to store
// them (epilogue.cuh) goes on as with α = 1 and β = 0. What C holds is taken in first (blend.cuh). Where several warps or blocks hold
// sums of the same elements, as rows leave shared memory instead (store_rows_by() in epilogue.cuh), or as slices are added (reduce.cuh).
//
// A bias that lies along a thread's runs is loaded by batches of runs, each for all rows that the thread has; one that lies across
// them once, an element a row.
#pragma once

#include "kernels/tensor_core/blend.cuh"

namespace tilesmith {

// What the bias has for Count neighbours along it.
template <int Count>
class BiasRun {
  struct alignas(Count * sizeof(BiasType) < 16 ? Count * sizeof(BiasType) : 16) Run {
    BiasType x[Count];
  };

 public:
  // `left`: elements from `from` to the bias's end. `whole`: as BiasRuns says.
  __device__ __forceinline__ void load(const BiasType* from, int left, bool whole) {
    if (whole) {
      if (left > 0) run_ = *reinterpret_cast<const Run*>(from);
    } else {
#pragma unroll
      for (int e = 0; e < Count; ++e) {
        if (e < left) run_.x[e] = from[e];
      }
    }
  }
  __device__ __forceinline__ BiasType at(int e) const { return run_.x[e]; }

 private:
  Run run_ = {};
};

// Whether the bias consists of whole runs, each at a multiple of its bytes; the same for the whole launch.
template <int Count>
__device__ __forceinline__ bool is_whole_bias(const BiasType* bias, int length) {
  return reinterpret_cast<unsigned long long>(bias) % (Count * sizeof(BiasType)) == 0 && length % Count == 0;
}

// Brings the bias of a tile to the first cache while the block multiplies, as fetch_held() does what C holds.
//   `thread`: this one's number of kThreads
template <int kThreads>
__device__ __forceinline__ void fetch_bias(const Destination& to, int m0, int n0, int rows, int columns, int thread) {
  if constexpr (kHasBias && !kPartials) {
    constexpr int kLine = 128 / int(sizeof(BiasType));
    const int first = kBiasAlongN ? n0 : m0, count = kBiasAlongN ? columns : rows, end = kBiasAlongN ? to.cols() : to.rows();
#pragma unroll 1
    for (int i = thread; i <= count / kLine; i += kThreads) {
      const int at = first + (i * kLine < count ? i * kLine : count - 1);
      if (at < end) asm volatile("prefetch.global.L1 [%0];" ::"l"(to.bias() + at));
    }
  }
}

// (m0, n0): where the warp's tile lies in D. Returns where its sums go now.
template <typename Sums>
__device__ __forceinline__ Destination fuse(Sums sums, const Destination& to, int m0, int n0) {
  if (!to.overwrites()) blend<false, false>(sums, to, m0, n0);
  const ScaleType alpha = to.overwrites() ? to.alpha() : ScaleType(1);  // else it is in the sums
  asm volatile("" : "+r"(m0), "+r"(n0));  // what is derived from them is not computed ahead, beside all the sums
  constexpr int kRun = Sums::kRun, kRows = 2 * Sums::kRowGroups;
  constexpr bool kAlongRuns = Sums::kSwapped ? kBiasAlongM : kBiasAlongN, kAcrossRuns = kHasBias && !kAlongRuns;
  const int runs_at = (Sums::kSwapped ? m0 : n0) + Sums::first_column(), rows_at = Sums::kSwapped ? n0 : m0;
  const int runs_end = Sums::kSwapped ? to.rows() : to.cols(), rows_end = Sums::kSwapped ? to.cols() : to.rows();
  BiasType of_row[kRows] = {};
  if constexpr (kAcrossRuns) {
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      const int at = rows_at + sums.row(row / 2, row % 2);
      if (at < rows_end) of_row[row] = to.bias()[at];
    }
  }
  const bool whole = kAlongRuns && is_whole_bias<kRun>(to.bias(), runs_end);
  constexpr int kWords = (kRun * int(sizeof(BiasType)) + 3) / 4, kFit = 16 / kWords;  // loads that are under way together
  constexpr int kAtATime = Sums::kRunsPerRow < kFit ? Sums::kRunsPerRow : kFit;
#pragma unroll
  for (int first = 0; first < Sums::kRunsPerRow; first += kAtATime) {
    BiasRun<kRun> of_run[kAtATime];
    if constexpr (kAlongRuns) {
#pragma unroll
      for (int b = 0; b < kAtATime; ++b) {
        if (first + b >= Sums::kRunsPerRow) break;
        const int at = runs_at + Sums::offset(first + b);
        of_run[b].load(to.bias() + at, runs_end - at, whole);
      }
    }
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
#pragma unroll
      for (int b = 0; b < kAtATime; ++b) {
        if (first + b >= Sums::kRunsPerRow) break;
        Accumulator mine[kRun];
        sums.get(row / 2, row % 2, first + b, mine);
#pragma unroll
        for (int e = 0; e < kRun; ++e) {
          const ScaleType sum = scaled<ScaleType>(alpha, ScaleType(mine[e]));
          mine[e] = Accumulator(fused<ScaleType>(sum, kAlongRuns ? of_run[b].at(e) : of_row[row]));
        }
        sums.set(row / 2, row % 2, first + b, mine);
      }
    }
  }
  return to.behind_epilogue();
}

}  // namespace tilesmith
