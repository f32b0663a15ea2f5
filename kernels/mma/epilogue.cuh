// From a warp's sums to memory (family `mma`).
//
//   direct    2 or 4 neighbouring columns a thread, as the instruction leaves them
//   staged    16 rows of the warp's tile at a time through shared memory, then 16-byte stores of whole rows
//   summed    where several warps (sliced K) or the blocks of a cluster (split K) hold sums of the same elements: all
//             through shared memory, added in a fixed order, each block storing its share of the rows
#pragma once

#include "kernels/mma/destination.cuh"
#include "kernels/mma/main_loop.cuh"

namespace tilesmith {

constexpr bool kLeftPaired = FragmentLoader<Side::left, LeftTile, kLeftKMajor, kLeftCount>::kPaired;
constexpr bool kRightPaired = FragmentLoader<Side::right, RightTile, kRightKMajor, kRightCount>::kPaired;
constexpr bool kSummed = kSliceK > 1 || kClusterSums;

// Row stride of sums in shared memory: 8 elements of padding put the rows that a warp writes together in different banks.
constexpr int kSumsPad = 8;
constexpr int kScratchStride = kWarpN + kSumsPad;
constexpr int kScratchElements = 16 * kScratchStride;  // of a warp
constexpr int kSummedStride = kBlockN + kSumsPad;
constexpr int kSummedElements = kBlockM * kSummedStride;  // of a share of the slabs
constexpr int kStoredVector = 16 / int(sizeof(Stored));

// What the launch must ask for: the ring; what the epilogue needs, in the ring's place where no copy is under way then; the
// ring's barriers. The host computes the same from the config (geometry.cpp).
constexpr int kScratchBytes = kStoreStaged && !kSummed ? kWarpsOfSlice * kScratchElements * int(sizeof(Accumulator)) : 0;
constexpr int kSummedBytes = kSummed ? kSliceK * kSummedElements * int(sizeof(Accumulator)) : 0;
constexpr int kOverlaidBytes = kSummedBytes > kScratchBytes ? kSummedBytes : kScratchBytes;
constexpr int kScratchAt = kPersistent ? kRingBytes : 0;
constexpr int kBarriersAt =
    kPersistent ? kRingBytes + kScratchBytes : kRingBytes > kOverlaidBytes ? kRingBytes : kOverlaidBytes;
constexpr int kSharedBytes = kBarriersAt + kBarrierBytes;

// The sums of one row and 16 columns that a thread holds, and where they lie.
struct Quad {
  Accumulator v[4];

  template <typename Tile>
  __device__ __forceinline__ Quad(const Tile& tile, int i, int jj, int r) {
    const auto& first = tile.sums[i][2 * jj];
    const auto& second = tile.sums[i][2 * jj + 1];
    if constexpr (kPackedSums) {
      const unsigned words[2] = {first.c[r], second.c[r]};
#pragma unroll
      for (int e = 0; e < 4; ++e) v[order(e)] = reinterpret_cast<const Accumulator*>(words)[e];
    } else {
#pragma unroll
      for (int e = 0; e < 4; ++e) v[order(e)] = (e < 2 ? first : second).c[2 * r + e % 2];
    }
  }

  static __device__ __forceinline__ int row(int r) {
    const int g = int(threadIdx.x % 32 / 4);
    return kLeftPaired ? 2 * g + r : g + 8 * r;
  }

  // Hands out runs of neighbouring columns: put(first column, sums of the run).
  template <typename Put>
  __device__ __forceinline__ void each_run(Put put) const {
    const int t = int(threadIdx.x % 4);
    if constexpr (kRightPaired) {
      put(4 * t, v);
    } else {
      const Accumulator low[2] = {v[0], v[1]}, high[2] = {v[2], v[3]};
      put(2 * t, low);
      put(8 + 2 * t, high);
    }
  }

 private:
  // e: 0, 1 of the first 8 columns' instruction, 2, 3 of the second's.
  static __device__ __forceinline__ constexpr int order(int e) { return kRightPaired ? e % 2 * 2 + e / 2 : e; }
};

// A run of neighbouring sums into shared memory.
template <int Count>
__device__ __forceinline__ void put_shared(Accumulator* to, const Accumulator (&sums)[Count]) {
  struct alignas(Count * sizeof(Accumulator) < 16 ? Count * sizeof(Accumulator) : 16) Run {
    Accumulator x[Count];
  };
  Run run;
#pragma unroll
  for (int e = 0; e < Count; ++e) run.x[e] = sums[e];
  *reinterpret_cast<Run*>(to) = run;
}

__device__ __forceinline__ void store_direct(const WarpTile& tile, const Destination& to, int m0, int n0) {
#pragma unroll
  for (int i = 0; i < kLeftCount; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int m = m0 + 16 * i + Quad::row(r);
#pragma unroll
      for (int jj = 0; jj < kRightCount; ++jj) {
        Quad(tile, i, jj, r).each_run([&](int n, const auto& sums) { to.store(m, n0 + 16 * jj + n, sums); });
      }
    }
  }
}

__device__ __forceinline__ void store_staged(const WarpTile& tile, const Destination& to, int m0, int n0,
                                             Accumulator* scratch) {
  constexpr int kVectorsPerRow = kWarpN / kStoredVector;
  static_assert(kWarpN % kStoredVector == 0, "a row of the warp's tile must split into 16-byte stores");
#pragma unroll
  for (int i = 0; i < kLeftCount; ++i) {
    __syncwarp();  // the former rows have been read
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#pragma unroll
      for (int jj = 0; jj < kRightCount; ++jj) {
        Accumulator* row = scratch + Quad::row(r) * kScratchStride + 16 * jj;
        Quad(tile, i, jj, r).each_run([&](int n, const auto& sums) { put_shared(row + n, sums); });
      }
    }
    __syncwarp();
#pragma unroll 4
    for (int v = int(threadIdx.x % 32); v < 16 * kVectorsPerRow; v += 32) {
      const int row = v / kVectorsPerRow, col = v % kVectorsPerRow * kStoredVector;
      Accumulator sums[kStoredVector];
#pragma unroll
      for (int e = 0; e < kStoredVector; ++e) sums[e] = scratch[row * kScratchStride + col + e];
      to.store(m0 + 16 * i + row, n0 + col, sums);
    }
  }
}

__device__ __forceinline__ unsigned cluster_rank() {
  unsigned rank = 0;
  if constexpr (kClusterSums) asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// All threads of the block, or of all blocks of the cluster.
__device__ __forceinline__ void wait_for_all() {
  if constexpr (kClusterSums) {
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  } else {
    __syncthreads();
  }
}

// The same address in the shared memory of another block of the cluster.
__device__ __forceinline__ const Accumulator* of_block(const Accumulator* mine, unsigned rank) {
  if constexpr (kClusterSums) {
    unsigned long long theirs;
    asm("mapa.u64 %0, %1, %2;" : "=l"(theirs) : "l"(mine), "r"(rank));
    return reinterpret_cast<const Accumulator*>(theirs);
  } else {
    return mine;
  }
}

__device__ __forceinline__ void store_summed(const WarpTile& tile, const Destination& to, const WarpPlace& warp, int block_m0,
                                             int block_n0, Accumulator* shared) {
  Accumulator* mine = shared + warp.slice * kSummedElements + warp.m0 * kSummedStride + warp.n0;
#pragma unroll
  for (int i = 0; i < kLeftCount; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#pragma unroll
      for (int jj = 0; jj < kRightCount; ++jj) {
        Accumulator* row = mine + (16 * i + Quad::row(r)) * kSummedStride + 16 * jj;
        Quad(tile, i, jj, r).each_run([&](int n, const auto& sums) { put_shared(row + n, sums); });
      }
    }
  }
  wait_for_all();
  constexpr int kBlocks = kClusterSums ? kSplitK : 1;
  constexpr int kVectorsPerRow = kBlockN / kStoredVector;
  constexpr int kVectors = kBlockM * kVectorsPerRow;
  constexpr int kShare = (kVectors + kBlocks - 1) / kBlocks;
  const int first = int(cluster_rank()) * kShare;
  const int last = min(kVectors, first + kShare);
  for (int v = first + int(threadIdx.x); v < last; v += kThreads) {
    const int row = v / kVectorsPerRow, col = v % kVectorsPerRow * kStoredVector;
    Accumulator sums[kStoredVector] = {};
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      const Accumulator* from = of_block(shared + row * kSummedStride + col, unsigned(block));
#pragma unroll
      for (int slice = 0; slice < kSliceK; ++slice) {
#pragma unroll
        for (int e = 0; e < kStoredVector; ++e) sums[e] = added(sums[e], from[slice * kSummedElements + e]);
      }
    }
    to.store(block_m0 + row, block_n0 + col, sums);
  }
  if constexpr (kClusterSums) wait_for_all();  // a block's shared memory must outlive its readers
}

}  // namespace tilesmith
