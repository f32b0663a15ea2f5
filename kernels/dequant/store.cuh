// From the warps' sums to D, in a fixed order (family `dequant`):
//
//   kSplitK = 1     sums of the warps along K ─▶ D
//   kCluster = 1    the same of every block of a cluster ─▶ D, each block storing its share
//   kCluster = 0    workspace[kSplitK][m][n] ─ second launch ─▶ D
#pragma once

#include "kernels/shared/finish/gate.cuh"
#include "kernels/dequant/main_loop.cuh"

namespace tilesmith {

constexpr int kPassThreads = 256;
constexpr bool kClusterSums = kSplitK > 1 && kCluster == 1;
constexpr bool kWorkspaceSums = kSplitK > 1 && kCluster == 0;
static_assert(!kIsGated || !kWorkspaceSums, "a pass over D would have to find both of a pair");

// All threads of all blocks of the cluster.
__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
}

// The same address in the shared memory of another block of the cluster.
__device__ __forceinline__ const float* of_block(const float* mine, int rank) {
  unsigned long long theirs;
  asm("mapa.u64 %0, %1, %2;" : "=l"(theirs) : "l"(mine), "r"(rank));
  return reinterpret_cast<const float*>(theirs);
}

__device__ __forceinline__ void put_output(const GemmArgs& args, int m, int n, float sum) {
  Output* const to = static_cast<Output*>(args.d) + m * args.ldc + n;
  if constexpr (kHasEpilogue) {
    *to = fused_output(args, m, n, sum);
  } else {
    const ScaleType alpha = scale_as<ScaleType>(args.alpha), beta = scale_as<ScaleType>(args.beta);
    *to = beta == ScaleType(0) ? linear<Output>(alpha, sum) : linear<Output>(alpha, sum, beta, *to);
  }
}

// Elements of the tile that D has: each(its place in a warp's sums, m, n). `part` of `kParts`.
template <int kParts, typename Each>
__device__ __forceinline__ void each_element(const GemmArgs& args, const Place& place, int part, Each each) {
  const int rows = min(kBlockM, args.m - place.m0), columns = min(kBlockN, args.n - place.n0);
  for (int i = part * kThreads + int(threadIdx.x); i < rows * kBlockN; i += kParts * kThreads) {
    const int row = i / kBlockN, column = i % kBlockN;
    if (column < columns) each(row * kSumsStride + column, place.m0 + row, place.n0 + column);
  }
}

// Pairs of the tile that D has: each(the places of x and y in a warp's sums, m, pair).
template <int kParts, typename Each>
__device__ __forceinline__ void each_pair(const GemmArgs& args, const Place& place, int part, Each each) {
  const int rows = min(kBlockM, args.m - place.m0), pairs = min(kBlockPairs, args.n / 2 - place.n0 / 2);
  for (int i = part * kThreads + int(threadIdx.x); i < rows * kBlockPairs; i += kParts * kThreads) {
    const int row = i / kBlockPairs, pair = i % kBlockPairs, first = row * kSumsStride;
    if (pair < pairs)
      each(first + (kHalves ? pair : 2 * pair), first + (kHalves ? kBlockPairs + pair : 2 * pair + 1), place.m0 + row,
          place.n0 / 2 + pair);
  }
}

// What a cluster's or one block's sums are made of, all of the tile.
template <typename Sum>
__device__ __forceinline__ void store_pairs(const GemmArgs& args, const Place& place, float* shared, Sum of_warps) {
  const auto put = [&](int m, int pair, float x, float y) {
    static_cast<Output*>(args.d)[m * args.ldc + pair] = gated_output(args, m, pair, x, y);
  };
  if constexpr (kClusterSums) {
    for (int i = int(threadIdx.x); i < kBlockM * kBlockN; i += kThreads) {
      const int at = i / kBlockN * kSumsStride + i % kBlockN;
      shared[at] = of_warps(at);
    }
    cluster_barrier();
    each_pair<kSplitK>(args, place, place.slice, [&](int at_x, int at_y, int m, int pair) {
      float x = 0, y = 0;
#pragma unroll
      for (int block = 0; block < kSplitK; ++block) {
        x += *of_block(shared + at_x, block);
        y += *of_block(shared + at_y, block);
      }
      put(m, pair, x, y);
    });
    cluster_barrier();  // a block's shared memory must outlive its readers
  } else {
    each_pair<1>(
        args, place, 0, [&](int at_x, int at_y, int m, int pair) { put(m, pair, of_warps(at_x), of_warps(at_y)); });
  }
}

// The same of sums without a gate.
template <typename Sum>
__device__ __forceinline__ void store_elements(const GemmArgs& args, const Place& place, float* shared, Sum of_warps) {
  if constexpr (kClusterSums) {
    each_element<1>(args, place, 0, [&](int at, int, int) { shared[at] = of_warps(at); });
    cluster_barrier();
    each_element<kSplitK>(args, place, place.slice, [&](int at, int m, int n) {
      float sum = 0;
#pragma unroll
      for (int block = 0; block < kSplitK; ++block) sum += *of_block(shared + at, block);
      put_output(args, m, n, sum);
    });
    cluster_barrier();  // a block's shared memory must outlive its readers
  } else if constexpr (kWorkspaceSums) {
    float* const to = static_cast<float*>(args.workspace) + place.slice * (static_cast<long long>(args.m) * args.n);
    each_element<1>(
        args, place, 0, [&](int at, int m, int n) { to[m * static_cast<long long>(args.n) + n] = of_warps(at); });
  } else {
    each_element<1>(args, place, 0, [&](int at, int m, int n) { put_output(args, m, n, of_warps(at)); });
  }
}

__device__ __forceinline__ void store(const WarpSums& sums, const GemmArgs& args, const Place& place, float* shared) {
  const int lane = int(threadIdx.x % 32), g = lane / 4, t = lane % 4;
  float* const mine = shared + place.warp_k * kSumsOfWarps + place.warp_n * (kStrips * kStripRows) + g;
#pragma unroll
  for (int s = 0; s < kStrips; ++s) {
#pragma unroll
    for (int tile = 0; tile < kTokenTiles; ++tile) {
#pragma unroll
      for (int e = 0; e < 4; ++e)
        mine[(tile * kTokens + 2 * t + e % 2) * kSumsStride + s * kStripRows + e / 2 * 8] = sums.of[s][tile][e];
    }
  }
  __syncthreads();
  const auto of_warps = [&](int at) {
    float sum = shared[at];
#pragma unroll
    for (int k = 1; k < kWarpsK; ++k) sum += shared[k * kSumsOfWarps + at];
    return sum;
  };
  if constexpr (kIsGated) {
    store_pairs(args, place, shared, of_warps);
  } else {
    store_elements(args, place, shared, of_warps);
  }
}

// The second launch: an element a thread.
__device__ __forceinline__ void sum_slices(const GemmArgs& args) {
  const long long elements = static_cast<long long>(args.m) * args.n,
                  i = blockIdx.x * static_cast<long long>(kPassThreads) + threadIdx.x;
  if (i >= elements) return;
  const float* const from = static_cast<const float*>(args.workspace) + i;
  float sum = 0;
#pragma unroll
  for (int slice = 0; slice < kSplitK; ++slice) sum += from[slice * elements];
  put_output(args, int(i / args.n), int(i % args.n), sum);
}

}  // namespace tilesmith
