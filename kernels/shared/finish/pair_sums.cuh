// The sums of a warp behind a gate (kIsGated): of the product's runs of 8 columns every other one, x, which the gate
// has made D's (gate_sums.cuh). As warp_sums.cuh has it, with half the columns.
#pragma once

#include "kernels/shared/finish/paired_columns.cuh"

namespace tilesmith {

template <typename Product>
class PairSums {
  static_assert(Product::kSwapped || Product::kInPairs, "a thread must hold the same of x and of y");

 public:
  static constexpr int kRowGroups = Product::kRowGroups;
  static constexpr int kColumns = Product::kColumns / 2;
  static constexpr int kRowStep = Product::kRowStep;
  static constexpr bool kInPairs = true;
  static constexpr bool kSwapped = false;
  static constexpr bool kRowPairs = Product::kRowPairs;
  static constexpr int kRun = 2, kRunsPerRow = kColumns / 8;

  template <typename Tile>
  __device__ __forceinline__ explicit PairSums(Tile& tile) : product_(tile) {}

  static __device__ __forceinline__ int row_of(int i, int r, int g) { return Product::row_of(i, r, g); }
  static __device__ __forceinline__ int row(int i, int r) { return Product::row(i, r); }
  static __device__ __forceinline__ int first_column() { return Product::first_column(); }
  static __device__ __forceinline__ constexpr int offset(int run) { return 8 * run; }
  __device__ __forceinline__ Accumulator sum(int i, int r, int run, int e) const {
    return product_.sum(i, r, 2 * run, e);
  }
  __device__ __forceinline__ void get(int i, int r, int run, Accumulator (&sums)[kRun]) const {
    product_.get(i, r, 2 * run, sums);
  }
  __device__ __forceinline__ void set(int i, int r, int run, const Accumulator (&sums)[kRun]) {
    product_.set(i, r, 2 * run, sums);
  }

 private:
  Product product_;
};

}  // namespace tilesmith
