// For TileCopy (shared/load/tile_copy.cuh): where in B, whose rows run along K, the rows of a tile lie that has them in
// the order of shared/finish/paired_columns.cuh.
#pragma once

#include "kernels/shared/finish/gate.cuh"
#include "kernels/shared/finish/paired_columns.cuh"

namespace tilesmith {

class PairedRows {
 public:
  static constexpr bool kInOrder = false;

  PairedRows() = default;
  // `first`: a thread's first row in the order; the matrix has n rows in its own.
  __device__ __forceinline__ PairedRows(long long ld, int first, int n) : ld_(ld), first_(first), pairs_(n / 2) {}

  // The offset of the thread's row in a pass, in elements from the matrix's first row, and whether the matrix has that
  // row.
  template <int RowsPerPass>
  __device__ __forceinline__ long long offset(int pass) const {
    if constexpr (RowsPerPass % kPairedStep == 0) {  // passes are as far apart as their pairs
      return row_of(first_) * ld_ + pass * (RowsPerPass / (kGateInterleaved ? 1 : 2)) * ld_;
    } else {
      return row_of(first_ + pass * RowsPerPass) * ld_;
    }
  }
  template <int RowsPerPass>
  __device__ __forceinline__ bool has(int pass) const {
    return pair_of(first_ + pass * RowsPerPass) < pairs_;
  }

 private:
  static __device__ __forceinline__ int pair_of(int at) { return at / kPairedStep * kPairedRun + at % kPairedRun; }
  __device__ __forceinline__ long long row_of(int at) const {
    const bool of_y = at % kPairedStep >= kPairedRun;
    return of_y ? column_of_y(pair_of(at), 2 * pairs_) : column_of_x(pair_of(at));
  }

  long long ld_;
  int first_, pairs_;
};

}  // namespace tilesmith
