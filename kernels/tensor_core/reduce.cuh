// The launches beside the GEMM where K is split: before it, C ← β·C for slices that are added atomically;
// after it, the sum of the slices' partial sums, in the order of the slices.
#pragma once

#include "kernels/tensor_core/destination.cuh"

namespace tilesmith {

constexpr int kPassThreads = 128;

// Partial sums of 16 bits are added in 32.
using Sum = Either<sizeof(Accumulator) == 2, float, Accumulator>;

// C ← β·C, or 0; an element a thread.
__device__ __forceinline__ void scale_c(const GemmArgs& args) {
  const ScaleType beta = scale_as<ScaleType>(args.beta);
  const long long index = blockIdx.x * static_cast<long long>(kPassThreads) + threadIdx.x;
  if (index >= static_cast<long long>(args.m) * args.n) return;
  Output* to = static_cast<Output*>(args.c) + index / args.n * args.ldc + index % args.n;
  *to = beta == ScaleType(0) ? Output(0) : Output(scaled<ScaleType>(beta, ScaleType(*to)));
}

// C ← α·(sum over slices) + β·C; four columns a thread.
__device__ __forceinline__ void sum_slices(const GemmArgs& args) {
  constexpr int kColumns = 4;
  struct alignas(kColumns * sizeof(Accumulator) < 16 ? kColumns * sizeof(Accumulator) : 16) Partials {
    Accumulator x[kColumns];
  };
  const long long stride = partial_stride(args.n);
  const int runs = (args.n + kColumns - 1) / kColumns;
  const long long index = blockIdx.x * static_cast<long long>(kPassThreads) + threadIdx.x;
  if (index >= static_cast<long long>(args.m) * runs) return;
  const int m = int(index / runs), n = int(index % runs) * kColumns;
  const Accumulator* from = static_cast<const Accumulator*>(args.workspace) + m * stride + n;
  const ScaleType alpha = scale_as<ScaleType>(args.alpha), beta = scale_as<ScaleType>(args.beta);

  Sum sums[kColumns] = {};
#pragma unroll
  for (int slice = 0; slice < kPartialSlices; ++slice) {
    const Partials one = *reinterpret_cast<const Partials*>(from + slice * (args.m * stride));
#pragma unroll
    for (int e = 0; e < kColumns; ++e) sums[e] = added(sums[e], Sum(one.x[e]));
  }
  Output* to = static_cast<Output*>(args.c) + m * args.ldc + n;
#pragma unroll
  for (int e = 0; e < kColumns; ++e) {
    if (n + e >= args.n) break;
    to[e] = beta == ScaleType(0) ? linear<Output>(alpha, sums[e]) : linear<Output>(alpha, sums[e], beta, to[e]);
  }
}

}  // namespace tilesmith
