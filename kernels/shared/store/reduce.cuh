// The launches beside the GEMM where K is split: before it, C ← β·C for slices that are added atomically;
// after it, the sum of the slices' partial sums, in the order of the slices.
#pragma once

#include "kernels/shared/store/destination.cuh"

namespace tilesmith {

// Partial sums of 16 bits are added in 32.
using Sum = Either<sizeof(Accumulator) == 2, float, Accumulator>;

// C ← β·C, or 0; an element a thread.
__device__ __forceinline__ void scale_c(const GemmArgs& args) {
  const ScaleType beta = scale_as<ScaleType>(args.beta);
  const long long index = blockIdx.x * static_cast<long long>(kPassThreads) + threadIdx.x;
  if (index >= static_cast<long long>(args.m) * args.n) return;
  Output* to = static_cast<Output*>(args.d) + index / args.n * args.ldc + index % args.n;
  *to = beta == ScaleType(0) ? Output(0) : Output(scaled<ScaleType>(beta, ScaleType(*to)));
}

// D of all slices' sums of x and y, which lie in the order of paired_columns.cuh: a thread has an element of D. In the
// order of the slices.
template <typename Args>  // so that it is compiled only where it is called
__device__ __forceinline__ void sum_slices_of_pairs(const Args& args) {
  const long long index = blockIdx.x * static_cast<long long>(kPassThreads) + threadIdx.x;
  const int pairs = args.n / 2;
  if (index >= static_cast<long long>(args.m) * pairs) return;
  const int m = int(index / pairs), pair = int(index - static_cast<long long>(m) * pairs);
  const long long stride = partial_stride(tiled_columns(args));
  const Accumulator* const from = static_cast<const Accumulator*>(args.workspace) + m * stride +
                                  pair / kPairedRun * kPairedStep + pair % kPairedRun;
  Sum x = Sum(0), y = Sum(0);
#pragma unroll
  for (int slice = 0; slice < kPartialSlices; ++slice) {
    x = added(x, Sum(from[slice * (args.m * stride)]));
    y = added(y, Sum(from[slice * (args.m * stride) + kPairedRun]));
  }
  static_cast<Output*>(args.d)[m * args.ldc + pair] = gated_output(args, m, pair, x, y);
}

// C ← α·(sum over slices) + β·C. A thread adds a run of four columns; where slices are many, four threads share them,
// and what they come to is added in shared memory, in the order of the slices too.
__device__ __forceinline__ void sum_slices_of_runs(const GemmArgs& args) {
  constexpr int kGroups = sum_groups(kPartialSlices), kRuns = kPassThreads / kGroups;  // of a block
  constexpr int kSlicesOfGroup = kPartialSlices / kGroups;
  struct alignas(kSumColumns * sizeof(Accumulator) < 16 ? kSumColumns * sizeof(Accumulator) : 16) Partials {
    Accumulator x[kSumColumns];
  };
  const long long stride = partial_stride(args.n);
  const int runs_of_row = (args.n + kSumColumns - 1) / kSumColumns;
  const long long runs = static_cast<long long>(args.m) * runs_of_row,
                  first_run = blockIdx.x * static_cast<long long>(kRuns);
  const int group = kGroups == 1 ? 0 : int(threadIdx.x) / kRuns;

  Sum sums[kSumColumns] = {};
  const long long run = first_run + int(threadIdx.x) % kRuns;
  if (run < runs) {
    const Accumulator* from =
        static_cast<const Accumulator*>(args.workspace) + run / runs_of_row * stride + run % runs_of_row * kSumColumns;
#pragma unroll
    for (int slice = 0; slice < kSlicesOfGroup; ++slice) {
      const Partials one =
          *reinterpret_cast<const Partials*>(from + (group * kSlicesOfGroup + slice) * (args.m * stride));
#pragma unroll
      for (int e = 0; e < kSumColumns; ++e) sums[e] = added(sums[e], Sum(one.x[e]));
    }
  }

  const ScaleType alpha = scale_as<ScaleType>(args.alpha), beta = scale_as<ScaleType>(args.beta);
  const auto store = [&](long long of_run, int e, Sum sum) {
    const long long m = of_run / runs_of_row;
    const int n = int(of_run % runs_of_row) * kSumColumns + e;
    if (of_run >= runs || n >= args.n) return;
    Output* to = static_cast<Output*>(args.d) + m * args.ldc + n;
    if constexpr (kHasEpilogue) {
      *to = fused_output(args, int(m), n, sum);
    } else {
      *to = beta == ScaleType(0) ? linear<Output>(alpha, sum) : linear<Output>(alpha, sum, beta, *to);
    }
  };
  if constexpr (kGroups == 1) {
#pragma unroll
    for (int e = 0; e < kSumColumns; ++e) store(run, e, sums[e]);
  } else {
    static_assert(kGroups == 1 || kRuns * kSumColumns == kPassThreads, "a thread stores one element");
    __shared__ Sum of_groups[kGroups][kPassThreads];
#pragma unroll
    for (int e = 0; e < kSumColumns; ++e) of_groups[group][int(threadIdx.x) % kRuns * kSumColumns + e] = sums[e];
    __syncthreads();
    Sum sum = of_groups[0][threadIdx.x];
#pragma unroll
    for (int other = 1; other < kGroups; ++other) sum = added(sum, of_groups[other][threadIdx.x]);
    store(first_run + int(threadIdx.x) / kSumColumns, int(threadIdx.x) % kSumColumns, sum);
  }
}

__device__ __forceinline__ void sum_slices(const GemmArgs& args) {
  if constexpr (kIsGated) {
    sum_slices_of_pairs(args);
  } else {
    sum_slices_of_runs(args);
  }
}

}  // namespace tilesmith
