// The blocks of a cluster, which compute neighbouring tiles and copy shared operands once (family `mma`, sm_90):
//
//              n →                        rank = m index + kClusterM · n index
//        ┌────────┬────────┐
//   m    │ rank 0 │ rank 2 │   row of blocks: one left tile, each block copies 1 / kClusterN of its rows, to all of them
//   ↓    ├────────┼────────┤   column of blocks: one right tile, each copies 1 / kClusterM of its rows
//        │ rank 1 │ rank 3 │
//        └────────┴────────┘
#pragma once

namespace tilesmith {

constexpr int kClusterTiles = kClusterM * kClusterN;

struct ClusterPlace {
  int m, n;  // which block of the cluster this is

  __device__ __forceinline__ ClusterPlace() : m(0), n(0) {
    if constexpr (kClusterTiles > 1) {
      m = int(blockIdx.x % kClusterTiles % kClusterM);
      n = int(blockIdx.x % kClusterTiles / kClusterM);
    }
  }

  // One bit a rank: the blocks that share this one's left tile, and those that share its right tile.
  __device__ __forceinline__ unsigned short row_mask() const {
    unsigned mask = 0;
#pragma unroll
    for (int other = 0; other < kClusterN; ++other) mask |= 1u << (m + kClusterM * other);
    return static_cast<unsigned short>(mask);
  }
  __device__ __forceinline__ unsigned short column_mask() const {
    return static_cast<unsigned short>(((1u << kClusterM) - 1) << (kClusterM * n));
  }
};

// All threads of all blocks of the cluster.
__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}

}  // namespace tilesmith
