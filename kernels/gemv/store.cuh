// From the sums of a block's warps to C (family `gemv`), in a fixed order:
//
//   kSplitK = 1     partials[kParts][kOutputs] ─▶ C
//   kCluster = 1    partials ─▶ partials[0] of every block of the cluster ─▶ C, each block storing its share of the outputs
//   kCluster = 0    partials ─▶ workspace[kSplitK][outputs] ─ second launch ─▶ C
#pragma once

#include "kernels/shared/finish/fused.cuh"
#include "kernels/gemv/task.cuh"

namespace tilesmith {

constexpr int kPassThreads = 256;
constexpr bool kClusterSums = kSplitK > 1 && kCluster == 1;
constexpr bool kWorkspaceSums = kSplitK > 1 && kCluster == 0;

// All threads of all blocks of the cluster.
__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
}

// The same address in the shared memory of another block of the cluster.
__device__ __forceinline__ const Sum* of_block(const Sum* mine, int rank) {
  unsigned long long theirs;
  asm("mapa.u64 %0, %1, %2;" : "=l"(theirs) : "l"(mine), "r"(rank));
  return reinterpret_cast<const Sum*>(theirs);
}

__device__ __forceinline__ void put_output(const GemmArgs& args, const Task& task, int output, Sum sum) {
  const ScaleType alpha = scale_as<ScaleType>(args.alpha), beta = scale_as<ScaleType>(args.beta);
  Output* to = static_cast<Output*>(args.d) + output * task.c_stride;
  if constexpr (kHasEpilogue) {
    *to = fused_output(args, kMatrixIsB ? 0 : output, kMatrixIsB ? output : 0, sum);
  } else {
    *to = beta == ScaleType(0) ? linear<Output>(alpha, sum) : linear<Output>(alpha, sum, beta, *to);
  }
}

__device__ __forceinline__ void store(
    const GemmArgs& args, const Task& task, const Tile& tile, int slice, Sum* partials) {
  for (int i = int(threadIdx.x); i < kOutputs; i += kThreads) {
    Sum sum = 0;
#pragma unroll
    for (int part = 0; part < kParts; ++part) sum = added(sum, partials[part * kOutputs + i]);
    const int output = tile.output(i);
    if constexpr (kClusterSums) {
      partials[i] = sum;
    } else if constexpr (kWorkspaceSums) {
      if (output < task.outputs)
        static_cast<Sum*>(args.workspace)[slice * static_cast<long long>(task.outputs) + output] = sum;
    } else {
      if (output < task.outputs) put_output(args, task, output, sum);
    }
  }
  if constexpr (kClusterSums) {
    cluster_barrier();
    for (int i = slice + int(threadIdx.x) * kSplitK; i < kOutputs; i += kThreads * kSplitK) {
      Sum sum = 0;
#pragma unroll
      for (int block = 0; block < kSplitK; ++block) sum = added(sum, *of_block(partials + i, block));
      const int output = tile.output(i);
      if (output < task.outputs) put_output(args, task, output, sum);
    }
    cluster_barrier();  // a block's shared memory must outlive its readers
  }
}

// The second launch: an output a thread.
__device__ __forceinline__ void sum_slices(const GemmArgs& args) {
  const Task task(args);
  const long long output = blockIdx.x * static_cast<long long>(kPassThreads) + threadIdx.x;
  if (output >= task.outputs) return;
  const Sum* from = static_cast<const Sum*>(args.workspace) + output;
  Sum sum = 0;
#pragma unroll
  for (int slice = 0; slice < kSplitK; ++slice) sum = added(sum, from[slice * static_cast<long long>(task.outputs)]);
  put_output(args, task, int(output), sum);
}

}  // namespace tilesmith
