// The gate on a warp's sums before any is stored (macro TILESMITH_GATED), as fuse.cuh does other epilogues: from x and y of a pair, which a
// thread holds at the same place of two neighbouring runs, to D's element in the place of x.
#pragma once

#include "kernels/tensor_core/fuse.cuh"
#include "kernels/tensor_core/pair_sums.cuh"

namespace tilesmith {

// What a vector along N has for two neighbouring pairs.
template <typename Element>
class OfPairs {
 public:
  static __device__ __forceinline__ bool is_whole(const Element* vector, int pairs) {
    return kGateInterleaved ? is_whole_vector<4>(vector, 2 * pairs) : is_whole_vector<2>(vector, pairs);
  }
  // `whole`: as is_whole() says.
  __device__ __forceinline__ void load(const Element* vector, int pair, int pairs, bool whole) {
    if constexpr (kGateInterleaved) {
      all_.load(vector + 2 * pair, 2 * (pairs - pair), whole);
    } else {
      x_.load(vector + pair, pairs - pair, whole);
      y_.load(vector + pairs + pair, pairs - pair, whole);
    }
  }
  __device__ __forceinline__ Element x(int e) const {
    if constexpr (kGateInterleaved) return all_.at(2 * e);
    return x_.at(e);
  }
  __device__ __forceinline__ Element y(int e) const {
    if constexpr (kGateInterleaved) return all_.at(2 * e + 1);
    return y_.at(e);
  }

 private:
  VectorRun<Element, 2> x_, y_;
  VectorRun<Element, kGateInterleaved ? 4 : 1> all_;
};

// x or y of a sum.
#ifdef TILESMITH_DEVICE_SCALARS
__device__ __forceinline__ ScaleType before_gate(Accumulator sum, ScaleType scale, float of_column, ScaleType bias, bool multiplies) {
  ScaleType value = multiplies ? ScaleType(sum) : ScaleType(0);
#else
__device__ __forceinline__ ScaleType before_gate(Accumulator sum, ScaleType scale, float of_column, ScaleType bias) {
  ScaleType value = ScaleType(sum);
#endif
  if (kScaleEachColumn) value *= ScaleType(of_column);
  value *= scale;
  return kHasBias ? value + bias : value;
}

// (m0, pair0): where the warp's tile lies in D. Returns where its sums go now.
template <typename Product>
__device__ __forceinline__ Destination gate(Product sums, const Destination& to, int m0, int pair0) {
  asm volatile("" : "+r"(m0), "+r"(pair0));  // what is derived from them is not computed ahead, beside all the sums
  constexpr int kRows = 2 * Product::kRowGroups, kRuns = Product::kRunsPerRow / 2;
  constexpr int kWords = (kScaleEachColumn ? 4 : 0) + (kBiasAlongN ? int(sizeof(BiasType)) : 0), kFit = kWords > 4 ? 2 : kWords > 2 ? 4 : 8;
  constexpr int kAtATime = kFit < kRuns ? kFit : kRuns;  // runs whose loads are under way together
  const int pairs = to.pairs(), first = pair0 + Product::first_column();
  const bool whole_scales = kScaleEachColumn && OfPairs<float>::is_whole(to.scale_n(), pairs);
  const bool whole_biases = kBiasAlongN && OfPairs<BiasType>::is_whole(to.bias(), pairs);
  // α, and what scales or is added to a whole row.
  ScaleType scale[kRows], bias[kRows];
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const int m = m0 + sums.row(row / 2, row % 2);
    const bool inside = m < to.rows();
    scale[row] = to.alpha();
    bias[row] = ScaleType(0);
    if (kScaleM) scale[row] *= ScaleType(!kScaleEachRow ? to.scale_m()[0] : inside ? to.scale_m()[m] : 0.0f);
    if (kScaleN && !kScaleEachColumn) scale[row] *= ScaleType(to.scale_n()[0]);
    if (kBiasAlongM && inside) bias[row] = ScaleType(to.bias()[m]);
  }
#pragma unroll
  for (int begin = 0; begin < kRuns; begin += kAtATime) {
    OfPairs<float> scales[kAtATime];
    OfPairs<BiasType> biases[kAtATime];
#pragma unroll
    for (int b = 0; b < kAtATime; ++b) {
      if (begin + b >= kRuns) break;
      const int pair = first + 8 * (begin + b);
      if (kScaleEachColumn) scales[b].load(to.scale_n(), pair, pairs, whole_scales);
      if (kBiasAlongN) biases[b].load(to.bias(), pair, pairs, whole_biases);
    }
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
#pragma unroll
      for (int b = 0; b < kAtATime; ++b) {
        if (begin + b >= kRuns) break;
        Accumulator x[Product::kRun], y[Product::kRun];
        sums.get(row / 2, row % 2, 2 * (begin + b), x);
        sums.get(row / 2, row % 2, 2 * (begin + b) + 1, y);
#pragma unroll
        for (int e = 0; e < Product::kRun; ++e) {
#ifdef TILESMITH_DEVICE_SCALARS
          const bool multiplies = to.alpha() != ScaleType(0);
          const ScaleType of_x = before_gate(x[e], scale[row], scales[b].x(e), kBiasAlongN ? ScaleType(biases[b].x(e)) : bias[row], multiplies);
          const ScaleType of_y = before_gate(y[e], scale[row], scales[b].y(e), kBiasAlongN ? ScaleType(biases[b].y(e)) : bias[row], multiplies);
#else
          const ScaleType of_x = before_gate(x[e], scale[row], scales[b].x(e), kBiasAlongN ? ScaleType(biases[b].x(e)) : bias[row]);
          const ScaleType of_y = before_gate(y[e], scale[row], scales[b].y(e), kBiasAlongN ? ScaleType(biases[b].y(e)) : bias[row]);
#endif
          x[e] = kept(gated(of_x, of_y));
        }
        sums.set(row / 2, row % 2, 2 * (begin + b), x);
      }
    }
  }
  return to.behind_epilogue();
}

// Where operands are swapped x and y are 8 rows of an instruction apart, in one thread too. Elements are stored as they are: those of
// 8 lanes are neighbours. (m0, n0): where the warp's tile lies in the product.
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
__device__ __forceinline__ void fetch_pair_vectors(const Destination& to, int m0, int n0, int rows, int columns, int thread) {
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
