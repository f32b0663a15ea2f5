// Where the rows of a B lie whose tiles have them in the order of tensor_core/paired_columns.cuh, for TileCopy (common/tile_copy.cuh).
#pragma once

#include "kernels/common/gate.cuh"
#include "kernels/tensor_core/paired_columns.cuh"

namespace tilesmith {

template <typename Element, int RowsPerPass>
class PairedRows {
  static constexpr bool kWholeSteps = RowsPerPass % kPairedStep == 0;  // passes are as far apart as their pairs

 public:
  // `first`: this thread's first row in the order; the matrix has n rows in its own.
  __device__ __forceinline__ PairedRows(const Element* matrix, long long ld, int first, int column, int n)
      : source_(matrix + column), ld_(ld), pairs_(n / 2), first_(first) {}

  __device__ __forceinline__ const Element* source(int pass) const {
    constexpr int kApart = RowsPerPass / (kGateInterleaved ? 1 : 2);
    return kWholeSteps ? source_ + row_of(first_) * ld_ + pass * kApart * ld_ : source_ + row_of(first_ + pass * RowsPerPass) * ld_;
  }
  __device__ __forceinline__ bool has(int pass) const { return pair_of(first_ + pass * RowsPerPass) < pairs_; }
  __device__ __forceinline__ void advance(long long elements) { source_ += elements; }

 private:
  static __device__ __forceinline__ int pair_of(int at) { return at / kPairedStep * kPairedRun + at % kPairedRun; }
  __device__ __forceinline__ long long row_of(int at) const {
    const bool of_y = at % kPairedStep >= kPairedRun;
    return of_y ? column_of_y(pair_of(at), 2 * pairs_) : column_of_x(pair_of(at));
  }

  const Element* source_;  // this thread's first chunk of the current step, of row 0
  long long ld_;
  int pairs_, first_;
};

}  // namespace tilesmith
