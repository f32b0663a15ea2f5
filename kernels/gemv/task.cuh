// The problem as the family `gemv` sees it, and which outputs a block computes.
#pragma once

#include "kernels/shared/gemm_args.cuh"
#include "kernels/gemv/operands.cuh"

namespace tilesmith {

constexpr bool kMatrixIsB = kMatrix == 1;
constexpr bool kAlong = kMatrixIsB ? kTransB : !kTransA;  // rows of the matrix, as stored, lie along K

constexpr int kWarps = kThreads / 32;
constexpr int kGroups = kThreads / kLanes;  // along: rows of the matrix that the block's threads read at a time

// Outputs of a block. Across and shifted, its chunks start up to kVector - 1 elements before the first of them.
constexpr int kOutputs = kAlong ? kGroups * kRows : (kLanes - kShifted) * kVector;
// Sums of the same output that a block's warps hold.
constexpr int kParts = !kAlong ? kWarps : kLanes > 32 ? kLanes / 32 : 1;

static_assert(kThreads % 32 == 0 && kThreads <= 1024, "a block is made of whole warps, 1024 threads at most");
static_assert(kLanes <= kThreads && kThreads % kLanes == 0, "the block's threads must split into whole rows");
static_assert(kAlong || kLanes <= 32, "across, the threads of a row's part are of one warp");
static_assert(kAlong || kRows == 1, "across, the rows that a thread has in flight are its kUnroll");
static_assert(kAlong || !kShifted || kWarps % kVector == 0, "across, a warp must keep to rows of one shift");

struct Task {
  const Bits* matrix;   // along: [outputs, k], across: [k, outputs]; row-major, rows ld elements apart
  const Bits* matrix_end;
  const Bits* vector;   // [k], stride elements apart
  long long ld;
  long long stride;
  long long c_stride;   // elements of C from one output to the next
  int outputs;
  int k;

  __device__ __forceinline__ explicit Task(const GemmArgs& args)
      : matrix(static_cast<const Bits*>(kMatrixIsB ? args.b : args.a)),
        vector(static_cast<const Bits*>(kMatrixIsB ? args.a : args.b)),
        ld(kMatrixIsB ? args.ldb : args.lda),
        stride(kMatrixIsB ? (kTransA ? args.lda : 1) : (kTransB ? 1 : args.ldb)),
        c_stride(kMatrixIsB ? 1 : args.ldc),
        outputs(kMatrixIsB ? args.n : args.m),
        k(args.k) {
    const int rows = kAlong ? outputs : k, columns = kAlong ? k : outputs;
    matrix_end = matrix + (rows - 1) * ld + columns;
  }
};

// Elements from the last 16-byte step to `address`.
__device__ __forceinline__ int shift_of(const Bits* address) {
  if constexpr (kShifted) return int(reinterpret_cast<unsigned long long>(address) % 16 / sizeof(Bits));
  return 0;
}

// After how many rows the shift comes again: 1 to 16, a power of two. (The host computes the same.)
__device__ __forceinline__ int shift_period(long long ld) {
  if constexpr (!kShifted || !kAlong) return 1;
  const unsigned row_bytes = unsigned(ld * int(sizeof(Bits))) % 16;
  return row_bytes == 0 ? 1 : int(16 / (row_bytes & -row_bytes));
}

// Outputs first, first + step, ..., kOutputs of them or up to the last one there is; all rows of one shift where rows
// lie along K.
struct Tile {
  int first;
  int step;

  __device__ __forceinline__ Tile(const Task& task, int index) {
    step = shift_period(task.ld);
    first = index / step * kOutputs * step + index % step;
  }

  __device__ __forceinline__ int output(int i) const { return first + i * step; }
};

// Slice `slice` of kSplitK of `count` steps of K, a whole number of `unit` long.
struct Slice {
  int begin;
  int end;

  __device__ __forceinline__ Slice(int slice, int count, int unit) {
    const int length = ((count + kSplitK - 1) / kSplitK + unit - 1) / unit * unit;
    begin = min(count, slice * length);
    end = min(count, begin + length);
  }
};

}  // namespace tilesmith
