// What an epilogue does besides α and β, on a warp's sums before any is stored. Every way to store them (epilogue.cuh)
// then goes on as with α = 1 and β = 0. What C holds is taken in between scales and bias (blend.cuh). Where several
// warps or blocks hold sums of the same elements, it is done as rows leave shared memory instead (row_store.cuh), or as
// slices are added (reduce.cuh).
//
// A vector that lies along a thread's runs is taken by batches of runs, each for all rows that the thread has. One that
// lies across them has an element a row. They come from memory (vector_run.cuh), or from registers that they were
// brought to before the block multiplied (ahead.cuh).
#pragma once

#include "kernels/shared/store/vector_run.cuh"

namespace tilesmith {

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
__device__ __forceinline__ void fetch_vectors(
    const Destination& to, int m0, int n0, int rows, int columns, int thread) {
  if constexpr (!kPartials) {
    if (kScaleEachRow) fetch_vector<kThreads>(to.scale_m(), m0, rows, to.rows(), thread);
    if (kScaleEachColumn) fetch_vector<kThreads>(to.scale_n(), n0, columns, to.cols(), thread);
    if (kBiasAlongN) fetch_vector<kThreads>(to.bias(), n0, columns, to.cols(), thread);
    if (kBiasAlongM) fetch_vector<kThreads>(to.bias(), m0, rows, to.rows(), thread);
  }
}

// Changes one run of a row: its values become change(values).
template <typename Sums, typename Change>
__device__ __forceinline__ void change_run(Sums& sums, int row, int run, Change change) {
  Accumulator mine[Sums::kRun];
  ScaleType values[Sums::kRun];
  sums.get(row / 2, row % 2, run, mine);
#pragma unroll
  for (int e = 0; e < Sums::kRun; ++e) values[e] = value_of(mine[e]);
  change(values);
#pragma unroll
  for (int e = 0; e < Sums::kRun; ++e) mine[e] = kept(values[e]);
  sums.set(row / 2, row % 2, run, mine);
}

// By what lies along the runs: change(a run's values, runs[i]) of each row, where get(first, runs) brings a batch.
template <typename Element, int kAtMost, typename Sums, typename Get, typename Change>
__device__ __forceinline__ void change_along(Sums sums, Get get, Change change) {
  constexpr int kAtATime = Sums::kRunsPerRow < kAtMost ? Sums::kRunsPerRow : kAtMost;
#pragma unroll
  for (int first = 0; first < Sums::kRunsPerRow; first += kAtATime) {
    VectorRun<Element, Sums::kRun> runs[kAtATime];
    get(first, runs);
#pragma unroll
    for (int row = 0; row < 2 * Sums::kRowGroups; ++row) {
#pragma unroll
      for (int b = 0; b < kAtATime; ++b) {
        if (first + b >= Sums::kRunsPerRow) break;
        change_run(sums, row, first + b, [&](auto& values) { change(values, runs[b]); });
      }
    }
  }
}

// By what each row has: change(a run's values, get(row)).
template <typename Sums, typename Get, typename Change>
__device__ __forceinline__ void change_across(Sums sums, Get get, Change change) {
#pragma unroll
  for (int row = 0; row < 2 * Sums::kRowGroups; ++row) {
    const auto of_row = get(row);
#pragma unroll
    for (int run = 0; run < Sums::kRunsPerRow; ++run) {
      change_run(sums, row, run, [&](auto& values) { change(values, of_row); });
    }
  }
}

// Integers as they are, real from then on.
template <typename Sums>
__device__ __forceinline__ void make_real(Sums sums) {
#pragma unroll
  for (int row = 0; row < 2 * Sums::kRowGroups; ++row) {
#pragma unroll
    for (int run = 0; run < Sums::kRunsPerRow; ++run) {
      Accumulator mine[Sums::kRun];
      sums.get(row / 2, row % 2, run, mine);
#pragma unroll
      for (int e = 0; e < Sums::kRun; ++e) mine[e] = kept(ScaleType(mine[e]));
      sums.set(row / 2, row % 2, run, mine);
    }
  }
}

template <typename Sums, typename Vectors>
__device__ __forceinline__ void scale(Sums sums, const Vectors& vectors) {
  using Places = VectorPlaces<Sums>;
  const auto times = [](auto& values, float by) {
    for (auto& value : values) value *= ScaleType(by);
  };
  if constexpr (Places::kScalesRows) change_across(sums, [&](int row) { return vectors.scale_of_row(row); }, times);
  if constexpr (Places::kScalesEachRun) {
    using Run = VectorRun<float, Sums::kRun>;
    change_along<float, Vectors::at_a_time(Run::kWords)>(
        sums, [&](int first, auto& runs) { vectors.scales(first, runs); },
        [](auto& values, const Run& by) {
#pragma unroll
          for (int e = 0; e < Sums::kRun; ++e) values[e] *= ScaleType(by.at(e));
        });
  } else if constexpr (Places::kScalesRuns) {
    change_across(sums, [&](int) { return vectors.one_scale(); }, times);
  }
}

// α, bias and activation. `alpha` is 1 where the sums have it.
template <typename Sums, typename Vectors>
__device__ __forceinline__ void finish(Sums sums, ScaleType alpha, const Vectors& vectors) {
  if constexpr (VectorPlaces<Sums>::kBiasAlongRuns) {
    using Run = VectorRun<BiasType, Sums::kRun>;
    change_along<BiasType, Vectors::at_a_time(Run::kWords)>(
        sums, [&](int first, auto& runs) { vectors.biases(first, runs); },
        [alpha](auto& values, const Run& bias) {
#pragma unroll
          for (int e = 0; e < Sums::kRun; ++e)
            values[e] = added<ScaleType>(scaled<ScaleType>(alpha, values[e]), ScaleType(bias.at(e)));
          activate(values);
        });
  } else {
    change_across(
        sums, [&](int row) { return VectorPlaces<Sums>::kBiasAcrossRuns ? vectors.bias_of_row(row) : BiasType(0); },
        [alpha](auto& values, BiasType bias) {
#pragma unroll
          for (int e = 0; e < Sums::kRun; ++e) {
            values[e] = scaled<ScaleType>(alpha, values[e]);
            if constexpr (kHasBias) values[e] = added<ScaleType>(values[e], ScaleType(bias));
          }
          activate(values);
        });
  }
}

// blend_held() makes sums α·sums + β·C. Returns where they go now.
template <typename Sums, typename Vectors, typename BlendHeld>
__device__ __forceinline__ Destination fuse(
    Sums sums, const Destination& to, const Vectors& vectors, BlendHeld blend_held) {
  if constexpr (kSumsBecomeReal) make_real(sums);
  if constexpr (kHasScales) scale(sums, vectors);
  if (!to.overwrites()) blend_held();
  if constexpr (kHasBias || kActivates) {
    finish(sums, to.overwrites() ? to.alpha() : ScaleType(1), vectors);
  } else {
    if (to.overwrites()) finish(sums, to.alpha(), vectors);
  }
  return to.behind_epilogue();
}

// Whether sums of so many registers, and what is done with them besides, leave few for what C holds.
template <typename Sums, int kMany>
constexpr bool kBlendsFew = kSumRegisters<Sums> >= kMany && (kHasScales || kHasBias || kActivates);

// The same with vectors as they lie in memory. (m0, n0): where the warp's tile lies in D.
template <typename Sums>
__device__ __forceinline__ Destination fuse(Sums sums, const Destination& to, int m0, int n0) {
  asm volatile("" : "+r"(m0), "+r"(n0));  // what is derived from them is not computed ahead, beside all the sums
  return fuse(sums, to, VectorsInMemory<Sums>(to, m0, n0),
      [&] { blend<kBlendsFew<Sums, 128>, true>(sums, to.held(), m0, n0); });
}

}  // namespace tilesmith
