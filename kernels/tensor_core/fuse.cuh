// What an epilogue does besides α and β, on a warp's sums before any is stored. Every way to store them (epilogue.cuh) then goes on as
// with α = 1 and β = 0. What C holds is taken in between scales and bias (blend.cuh). Where several warps or blocks hold sums of the same
// elements, it is done as rows leave shared memory instead (store_rows_by() in epilogue.cuh), or as slices are added (reduce.cuh).
//
// A vector that lies along a thread's runs is loaded by batches of runs, each for all rows that the thread has. One that lies across them
// is loaded once, an element a row.
#pragma once

#include "kernels/tensor_core/blend.cuh"

namespace tilesmith {

// What a vector has for Count neighbours along it.
template <typename Element, int Count>
class VectorRun {
  struct alignas(Count * sizeof(Element) < 16 ? Count * sizeof(Element) : 16) Run {
    Element x[Count];
  };

 public:
  // `left`: elements from `from` to the vector's end. `whole`: as is_whole_vector() says.
  __device__ __forceinline__ void load(const Element* from, int left, bool whole) {
    if (whole) {
      if (left > 0) run_ = *reinterpret_cast<const Run*>(from);
    } else {
#pragma unroll
      for (int e = 0; e < Count; ++e) {
        if (e < left) run_.x[e] = from[e];
      }
    }
  }
  __device__ __forceinline__ Element at(int e) const { return run_.x[e]; }

 private:
  Run run_ = {};
};

// Whether the vector consists of whole runs, each at a multiple of its bytes; the same for the whole launch.
template <int Count, typename Element>
__device__ __forceinline__ bool is_whole_vector(const Element* vector, int length) {
  return reinterpret_cast<unsigned long long>(vector) % (Count * sizeof(Element)) == 0 && length % Count == 0;
}

// Brings a vector's part of a tile to the first cache while the block multiplies, as fetch_held() does what C holds.
//   `thread`: this one's number of kThreads
template <int kThreads, typename Element>
__device__ __forceinline__ void fetch_vector(const Element* vector, int first, int count, int end, int thread) {
  constexpr int kLine = 128 / int(sizeof(Element));
#pragma unroll 1
  for (int i = thread; i <= count / kLine; i += kThreads) {
    const int at = first + (i * kLine < count ? i * kLine : count - 1);
    if (at < end) asm volatile("prefetch.global.L1 [%0];" ::"l"(vector + at));
  }
}

template <int kThreads>
__device__ __forceinline__ void fetch_vectors(const Destination& to, int m0, int n0, int rows, int columns, int thread) {
  if constexpr (!kPartials) {
    if (kScaleEachRow) fetch_vector<kThreads>(to.scale_m(), m0, rows, to.rows(), thread);
    if (kScaleEachColumn) fetch_vector<kThreads>(to.scale_n(), n0, columns, to.cols(), thread);
    if (kBiasAlongN) fetch_vector<kThreads>(to.bias(), n0, columns, to.cols(), thread);
    if (kBiasAlongM) fetch_vector<kThreads>(to.bias(), m0, rows, to.rows(), thread);
  }
}

// Where a thread's sums lie: runs along one dimension of D, rows of the warp's tile along the other.
template <typename Sums>
struct SumsPlace {
  int runs_at, runs_end, rows_at, rows_end;

  __device__ __forceinline__ SumsPlace(const Destination& to, int m0, int n0)
      : runs_at((Sums::kSwapped ? m0 : n0) + Sums::first_column()),
        runs_end(Sums::kSwapped ? to.rows() : to.cols()),
        rows_at(Sums::kSwapped ? n0 : m0),
        rows_end(Sums::kSwapped ? to.cols() : to.rows()) {}
};

// Changes one run of a row: sum e becomes change(sum, e).
template <typename Sums, typename Change>
__device__ __forceinline__ void change_run(Sums& sums, int row, int run, Change change) {
  Accumulator mine[Sums::kRun];
  sums.get(row / 2, row % 2, run, mine);
#pragma unroll
  for (int e = 0; e < Sums::kRun; ++e) mine[e] = change(mine[e], e);
  sums.set(row / 2, row % 2, run, mine);
}

// sums ← change(sum, the vector's element for it), for a vector along the runs.
template <typename Element, typename Sums, typename Change>
__device__ __forceinline__ void change_along(Sums sums, const SumsPlace<Sums>& place, const Element* vector, Change change) {
  constexpr int kRun = Sums::kRun, kRows = 2 * Sums::kRowGroups;
  constexpr int kWords = (kRun * int(sizeof(Element)) + 3) / 4, kFit = 16 / kWords;  // loads that are under way together
  constexpr int kAtATime = Sums::kRunsPerRow < kFit ? Sums::kRunsPerRow : kFit;
  const bool whole = is_whole_vector<kRun>(vector, place.runs_end);
#pragma unroll
  for (int first = 0; first < Sums::kRunsPerRow; first += kAtATime) {
    VectorRun<Element, kRun> of_run[kAtATime];
#pragma unroll
    for (int b = 0; b < kAtATime; ++b) {
      if (first + b >= Sums::kRunsPerRow) break;
      const int at = place.runs_at + Sums::offset(first + b);
      of_run[b].load(vector + at, place.runs_end - at, whole);
    }
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
#pragma unroll
      for (int b = 0; b < kAtATime; ++b) {
        if (first + b >= Sums::kRunsPerRow) break;
        change_run(sums, row, first + b, [&](Accumulator sum, int e) { return kept(change(value_of(sum), of_run[b].at(e))); });
      }
    }
  }
}

// The same for a vector across them; `each` false: of it there is one element, for all; null: there is none, and it is 0.
template <typename Element, typename Sums, typename Change>
__device__ __forceinline__ void change_across(Sums sums, const SumsPlace<Sums>& place, const Element* vector, bool each, Change change) {
  constexpr int kRows = 2 * Sums::kRowGroups;
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const int at = each ? place.rows_at + sums.row(row / 2, row % 2) : 0;
    const Element of_row = vector != nullptr && (!each || at < place.rows_end) ? vector[at] : Element(0);
#pragma unroll
    for (int run = 0; run < Sums::kRunsPerRow; ++run)
      change_run(sums, row, run, [&](Accumulator sum, int) { return kept(change(value_of(sum), of_row)); });
  }
}

// Integers as they are, real from then on.
template <typename Sums>
__device__ __forceinline__ void make_real(Sums sums) {
#pragma unroll
  for (int row = 0; row < 2 * Sums::kRowGroups; ++row) {
#pragma unroll
    for (int run = 0; run < Sums::kRunsPerRow; ++run) change_run(sums, row, run, [](Accumulator sum, int) { return kept(ScaleType(sum)); });
  }
}

template <typename Sums>
__device__ __forceinline__ void scale(Sums sums, const SumsPlace<Sums>& place, const Destination& to) {
  constexpr bool kEachRun = Sums::kSwapped ? kScaleEachRow : kScaleEachColumn, kRuns = Sums::kSwapped ? kScaleM : kScaleN;
  constexpr bool kEachOfRows = Sums::kSwapped ? kScaleEachColumn : kScaleEachRow, kOfRows = Sums::kSwapped ? kScaleN : kScaleM;
  const float* const along = Sums::kSwapped ? to.scale_m() : to.scale_n();
  const float* const across = Sums::kSwapped ? to.scale_n() : to.scale_m();
  const auto times = [](ScaleType sum, float by) { return sum * ScaleType(by); };
  if constexpr (kOfRows) change_across(sums, place, across, kEachOfRows, times);
  if constexpr (kEachRun) {
    change_along(sums, place, along, times);
  } else if constexpr (kRuns) {
    change_across(sums, place, along, false, times);
  }
}

// (m0, n0): where the warp's tile lies in D. Returns where its sums go now.
template <typename Sums>
__device__ __forceinline__ Destination fuse(Sums sums, const Destination& to, int m0, int n0) {
  asm volatile("" : "+r"(m0), "+r"(n0));  // what is derived from them is not computed ahead, beside all the sums
  const SumsPlace<Sums> place(to, m0, n0);
  if constexpr (kSumsBecomeReal) make_real(sums);
  if constexpr (kHasScales) scale(sums, place, to);
  if (!to.overwrites()) blend<false, false>(sums, to, m0, n0);
  const ScaleType alpha = to.overwrites() ? to.alpha() : ScaleType(1);  // else it is in the sums
  const auto finish = [alpha](ScaleType sum, BiasType bias) { return fused<ScaleType>(scaled<ScaleType>(alpha, sum), bias); };
  constexpr bool kAlongRuns = Sums::kSwapped ? kBiasAlongM : kBiasAlongN;
  if constexpr (kAlongRuns) {
    change_along(sums, place, to.bias(), finish);
  } else {
    change_across(sums, place, kHasBias ? to.bias() : nullptr, true, finish);
  }
  return to.behind_epilogue();
}

}  // namespace tilesmith
