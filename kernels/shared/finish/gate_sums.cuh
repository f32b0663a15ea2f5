// The gate on a warp's sums before any is stored (kIsGated), as fuse.cuh does other epilogues: from x and y of a pair,
// which a thread holds at the same place of two neighbouring runs, to D's element in the place of x.
#pragma once

#include "kernels/shared/finish/fuse.cuh"
#include "kernels/shared/finish/pair_sums.cuh"

namespace tilesmith {

// What a vector along N has for two neighbouring pairs: their x, and their y behind; or all of them in their order.
template <typename Element>
class OfPairs {
  static constexpr int kRuns = kGateInterleaved ? 1 : 2, kRun = 4 / kRuns,
                       kWordsOfRun = VectorRun<Element, kRun>::kWords;

 public:
  static constexpr int kWords = kRuns * kWordsOfRun;

  static __device__ __forceinline__ bool is_whole(const Element* vector, int pairs) {
    return is_whole_vector<kRun>(vector, kGateInterleaved ? 2 * pairs : pairs);
  }
  // Of a vector that is_whole(), or of any.
  __device__ __forceinline__ void load_whole(const Element* vector, int pair, int pairs) {
    load(vector, pair, pairs, [](auto& run, const Element* from, int left) { run.load_whole(from, left); });
  }
  __device__ __forceinline__ void load_each(const Element* vector, int pair, int pairs) {
    load(vector, pair, pairs, [](auto& run, const Element* from, int left) { run.load_each(from, left); });
  }
  __device__ __forceinline__ Element x(int e) const { return runs_[0].at(kGateInterleaved ? 2 * e : e); }
  __device__ __forceinline__ Element y(int e) const {
    return kGateInterleaved ? runs_[0].at(2 * e + 1) : runs_[kRuns - 1].at(e);
  }

  __device__ __forceinline__ unsigned word(int i) const { return runs_[i / kWordsOfRun].word(i % kWordsOfRun); }
  __device__ __forceinline__ void set_word(int i, unsigned word) {
    runs_[i / kWordsOfRun].set_word(i % kWordsOfRun, word);
  }

 private:
  template <typename Load>
  __device__ __forceinline__ void load(const Element* vector, int pair, int pairs, Load load) {
    if constexpr (kGateInterleaved) {
      load(runs_[0], vector + 2 * pair, 2 * (pairs - pair));
    } else {
      load(runs_[0], vector + pair, pairs - pair);
      load(runs_[kRuns - 1], vector + pairs + pair, pairs - pair);
    }
  }

  VectorRun<Element, kRun> runs_[kRuns];
};

// Of pairs from pair_of(i) on, for all i; asked once whether the vector is whole, as in load_runs().
template <typename Element, int Count, typename PairOf>
__device__ __forceinline__ void load_pairs(
    OfPairs<Element> (&all)[Count], const Element* vector, int pairs, PairOf pair_of) {
  if (__builtin_expect(OfPairs<Element>::is_whole(vector, pairs), 1)) {
#pragma unroll
    for (int i = 0; i < Count; ++i) all[i].load_whole(vector, pair_of(i), pairs);
  } else {
#pragma unroll
    for (int i = 0; i < Count; ++i) all[i].load_each(vector, pair_of(i), pairs);
  }
}

// x or y of a sum.
__device__ __forceinline__ ScaleType before_gate(
    Accumulator sum, ScaleType scale, float of_column, ScaleType bias, bool multiplies) {
  ScaleType value = multiplies ? ScaleType(sum) : ScaleType(0);
  if (kScaleEachColumn) value *= ScaleType(of_column);
  value *= scale;
  return kHasBias ? value + bias : value;
}

// Vectors that are loaded where they are used, by batches of runs of pairs. (m0, pair0): where the warp's tile lies in
// D.
template <typename Product>
class PairVectorsInMemory {
 public:
  __device__ __forceinline__ PairVectorsInMemory(const Destination& to, int m0, int pair0)
      : to_(to), m0_(m0), pair_(pair0 + Product::first_column()) {}

  static constexpr int at_a_time(int words) { return words > 8 ? 2 : words > 4 ? 4 : 8; }

  template <int Count>
  __device__ __forceinline__ void scales(int first, OfPairs<float> (&pairs)[Count]) const {
    load_pairs(pairs, to_.scale_n(), to_.pairs(), [&](int i) { return pair_of(first + i); });
  }
  template <int Count>
  __device__ __forceinline__ void biases(int first, OfPairs<BiasType> (&pairs)[Count]) const {
    load_pairs(pairs, to_.bias(), to_.pairs(), [&](int i) { return pair_of(first + i); });
  }
  __device__ __forceinline__ float one_scale() const { return to_.scale_n()[0]; }
  __device__ __forceinline__ float scale_of_row(int row) const {
    return !kScaleEachRow ? to_.scale_m()[0] : is_inside(row) ? to_.scale_m()[m_of(row)] : 0.0f;
  }
  __device__ __forceinline__ BiasType bias_of_row(int row) const {
    return is_inside(row) ? to_.bias()[m_of(row)] : BiasType(0);
  }

  // Where a run's first pair lies in D, beyond all pairs where there is no such run.
  __device__ __forceinline__ int pair_of(int run) const {
    return run < Product::kRunsPerRow / 2 ? pair_ + 8 * run : to_.pairs();
  }

 private:
  __device__ __forceinline__ int m_of(int row) const { return m0_ + Product::row(row / 2, row % 2); }
  __device__ __forceinline__ bool is_inside(int row) const { return m_of(row) < to_.rows(); }

  const Destination& to_;
  int m0_, pair_;
};

// Returns where the sums go now.
template <typename Product, typename Vectors>
__device__ __forceinline__ Destination gate(Product sums, const Destination& to, const Vectors& vectors) {
  constexpr int kRows = 2 * Product::kRowGroups, kRuns = Product::kRunsPerRow / 2;
  constexpr int kWords =
      (kScaleEachColumn ? OfPairs<float>::kWords : 0) + (kBiasAlongN ? OfPairs<BiasType>::kWords : 0);
  constexpr int kFit = Vectors::at_a_time(kWords),
                kAtATime = kFit < kRuns ? kFit : kRuns;  // runs whose loads are under way together
  // α, and what scales or is added to a whole row.
  ScaleType scale[kRows], bias[kRows];
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    scale[row] = to.alpha();
    if (kScaleM) scale[row] *= ScaleType(vectors.scale_of_row(row));
    if (kScaleN && !kScaleEachColumn) scale[row] *= ScaleType(vectors.one_scale());
    bias[row] = kBiasAlongM ? ScaleType(vectors.bias_of_row(row)) : ScaleType(0);
  }
  const bool multiplies = !kScalarsOnDevice || to.alpha() != ScaleType(0);
#pragma unroll
  for (int begin = 0; begin < kRuns; begin += kAtATime) {
    OfPairs<float> scales[kAtATime];
    OfPairs<BiasType> biases[kAtATime];
    if constexpr (kScaleEachColumn) vectors.scales(begin, scales);
    if constexpr (kBiasAlongN) vectors.biases(begin, biases);
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
#pragma unroll
      for (int b = 0; b < kAtATime; ++b) {
        if (begin + b >= kRuns) break;
        Accumulator x[Product::kRun], y[Product::kRun];
        sums.get(row / 2, row % 2, 2 * (begin + b), x);
        sums.get(row / 2, row % 2, 2 * (begin + b) + 1, y);
        ScaleType of_x[Product::kRun], of_y[Product::kRun];
#pragma unroll
        for (int e = 0; e < Product::kRun; ++e) {
          of_x[e] = before_gate(
              x[e], scale[row], scales[b].x(e), kBiasAlongN ? ScaleType(biases[b].x(e)) : bias[row], multiplies);
          of_y[e] = before_gate(
              y[e], scale[row], scales[b].y(e), kBiasAlongN ? ScaleType(biases[b].y(e)) : bias[row], multiplies);
        }
        gate_each(of_x, of_y);
#pragma unroll
        for (int e = 0; e < Product::kRun; ++e) x[e] = kept(of_x[e]);
        sums.set(row / 2, row % 2, 2 * (begin + b), x);
      }
    }
  }
  return to.behind_epilogue();
}

// The same with vectors as they lie in memory.
template <typename Product>
__device__ __forceinline__ Destination gate(Product sums, const Destination& to, int m0, int pair0) {
  asm volatile("" : "+r"(m0), "+r"(pair0));  // what is derived from them is not computed ahead, beside all the sums
  return gate(sums, to, PairVectorsInMemory<Product>(to, m0, pair0));
}

// Where operands are swapped x and y are 8 rows of an instruction apart, in one thread too. Elements are stored as they
// are: those of 8 lanes are neighbours. (m0, n0): where the warp's tile lies in the product.
template <typename Product>
__device__ __forceinline__ void store_swapped_pairs(const Product& sums, const Destination& to, int m0, int n0) {
  const Destination fused = to.behind_epilogue();
  const int g = int(threadIdx.x % 32 / 4);
#pragma unroll
  for (int i = 0; i < Product::kRowGroups; ++i) {
    const int pair = (n0 + Product::row_of(i, 0, 0)) / 2 + g;
#pragma unroll
    for (int run = 0; run < Product::kRunsPerRow; ++run) {
#pragma unroll
      for (int e = 0; e < Product::kRun; ++e) {
        const int m = m0 + Product::first_column() + Product::offset(run) + e;
        Accumulator x[1] = {sums.sum(i, 0, run, e)};
        const Accumulator y[1] = {sums.sum(i, 1, run, e)};
        to.gate_run(m, pair, x, y);
        fused.store(m, pair, x);
      }
    }
  }
}

// Brings the vectors' parts of a tile to the first cache while the block multiplies (fetch_vectors() in fuse.cuh).
template <int kThreads>
__device__ __forceinline__ void fetch_pair_vectors(
    const Destination& to, int m0, int n0, int rows, int columns, int thread) {
  if constexpr (!kPartials) {
    const int pairs = to.pairs();
    const auto fetch_along_n = [&](const auto* vector) {
      if constexpr (kGateInterleaved) {
        fetch_vector<kThreads>(vector, n0, columns, 2 * pairs, thread);
      } else {
        fetch_vector<kThreads>(vector, n0 / 2, columns / 2, pairs, thread);
        fetch_vector<kThreads>(vector + pairs, n0 / 2, columns / 2, pairs, thread);
      }
    };
    if (kScaleEachRow) fetch_vector<kThreads>(to.scale_m(), m0, rows, to.rows(), thread);
    if (kBiasAlongM) fetch_vector<kThreads>(to.bias(), m0, rows, to.rows(), thread);
    if (kScaleEachColumn) fetch_along_n(to.scale_n());
    if (kBiasAlongN) fetch_along_n(to.bias());
  }
}

}  // namespace tilesmith
