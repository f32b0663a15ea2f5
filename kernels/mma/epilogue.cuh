// From a warp's sums to memory (family `mma`).
//
//   direct    2 or 4 neighbouring columns a thread, as the instruction leaves them
//   staged    8 rows of the warp's tile at a time through shared memory, then stores of whole rows
//   summed    where several warps (sliced K) or the blocks of a cluster (split K) hold sums of the same elements: all
//             through shared memory, added in a fixed order, each block storing its share of the rows
//
#pragma once

#include "kernels/mma/destination.cuh"
#include "kernels/mma/main_loop.cuh"

namespace tilesmith {

constexpr bool kSummed = kSliceK > 1 || kClusterSums;

// Row stride of sums in shared memory: 8 elements of padding put the rows that a warp writes together in different banks.
constexpr int kSumsPad = 8;
constexpr int kScratchRows = 8;
constexpr int kScratchStride = kWarpN + kSumsPad;
constexpr int kScratchElements = kScratchRows * kScratchStride;  // of a warp
constexpr int kSummedStride = kBlockN + kSumsPad;
constexpr int kSummedElements = kBlockM * kSummedStride;  // of a share of the slabs
constexpr int kStoredVector = 16 / int(sizeof(Stored));

// What the launch must ask for: the ring; what the epilogue needs, in the ring's place where no copy is under way then; the
// ring's barriers. The host computes the same from the config (geometry.cpp).
constexpr int kScratchBytes =
    kStoreStaged && !kSummed ? kWarpsOfSlice * kScratchElements * int(sizeof(Accumulator)) : 0;
constexpr int kSummedBytes = kSummed ? kSliceK * kSummedElements * int(sizeof(Accumulator)) : 0;
constexpr int kOverlaidBytes = kSummedBytes > kScratchBytes ? kSummedBytes : kScratchBytes;
constexpr int kScratchAt = kPersistent ? kRingBytes : 0;
constexpr int kBarriersAt = kPersistent                   ? kRingBytes + kScratchBytes
                            : kRingBytes > kOverlaidBytes ? kRingBytes
                                                          : kOverlaidBytes;
constexpr int kSharedBytes = kBarriersAt + kBarrierBytes;

// Row of the warp's tile that the sums c[2r], c[2r + 1] of tile.sums[i] belong to, in the lanes of row g.
__device__ __forceinline__ int sums_row(int i, int r, int g) { return row_in_warp<kDealt<LeftTile>>(i, r, g); }

// Of the row that tile.sums[i] and r say, hands out runs of neighbouring columns: put(first column, sums of the run).
template <typename Put>
__device__ __forceinline__ void each_run(const WarpTile& tile, int i, int r, Put put) {
  const int t = int(threadIdx.x % 4);
  // Of the sums that thread t holds of 8 columns' instruction, the first or the second.
  const auto sum = [&](int instruction, int e) {
    const Sums& sums = tile.sums[i][instruction];
    if constexpr (kPackedSums) {
      return reinterpret_cast<const Accumulator*>(&sums.c[r])[e];
    } else {
      return sums.c[2 * r + e];
    }
  };
  constexpr Dealt kHow = kDealt<RightTile>;
  if constexpr (kHow == Dealt::pairs) {
#pragma unroll
    for (int j = 0; j < 2 * kRightCount; j += 2) {
      const Accumulator run[4] = {sum(j, 0), sum(j + 1, 0), sum(j, 1), sum(j + 1, 1)};
      put(column_in_warp<kHow>(j, t), run);
    }
  } else {
#pragma unroll
    for (int j = 0; j < 2 * kRightCount; ++j) {
      const Accumulator run[2] = {sum(j, 0), sum(j, 1)};
      put(column_in_warp<kHow>(j, t), run);
    }
  }
}

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
  const int g = int(threadIdx.x % 32 / 4);
#pragma unroll
  for (int i = 0; i < kLeftCount; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int m = m0 + sums_row(i, r, g);
      each_run(tile, i, r, [&](int n, const auto& sums) { to.store(m, n0 + n, sums); });
    }
  }
}

// Rows of sums in shared memory to C, by kStoringWarps warps. In vectors, where C's rows start at 16-byte boundaries; else an
// element a lane, row by row, so that a warp's elements are neighbours and a row's address is made once.
//   `sum` says the sum at (row, column), `row_of` a row's place in C
template <int kRows, int kCols, int kStoringWarps, typename SumOf, typename RowOf>
__device__ __forceinline__ void store_rows(const Destination& to, int n0, SumOf sum, RowOf row_of) {
  if (to.takes_vectors()) {
    constexpr int kRunsPerRow = kCols / kStoredVector, kRuns = kRows * kRunsPerRow, kStep = 32 * kStoringWarps;
    const int thread = int(threadIdx.x % kStep);
#pragma unroll 4
    for (int i = 0; i < (kRuns + kStep - 1) / kStep; ++i) {
      const int run = thread + i * kStep;
      if (kRuns % kStep != 0 && run >= kRuns) break;
      const int row = run / kRunsPerRow, col = run % kRunsPerRow * kStoredVector;
      Accumulator sums[kStoredVector];
#pragma unroll
      for (int e = 0; e < kStoredVector; ++e) sums[e] = sum(row, col + e);
      to.store(row_of(row), n0 + col, sums);
    }
  } else {
    const int lane = int(threadIdx.x % 32);
#pragma unroll 2
    for (int row = int(threadIdx.x / 32 % kStoringWarps); row < kRows; row += kStoringWarps) {
      const int m = row_of(row);
#pragma unroll
      for (int col = 0; col < kCols; col += 32) {
        if (kCols % 32 != 0 && col + lane >= kCols) break;
        const Accumulator one[1] = {sum(row, col + lane)};
        to.store(m, n0 + col + lane, one);
      }
    }
  }
}

__device__ __forceinline__ void store_staged(const WarpTile& tile, const Destination& to, int m0, int n0,
                                             Accumulator* scratch) {
  static_assert(kWarpN % kStoredVector == 0, "a row of the warp's tile must split into 16-byte stores");
  const int g = int(threadIdx.x % 32 / 4);
#pragma unroll
  for (int i = 0; i < kLeftCount; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      __syncwarp();  // the former rows have been read
      each_run(tile, i, r, [&](int n, const auto& sums) { put_shared(scratch + g * kScratchStride + n, sums); });
      __syncwarp();
      const auto sum = [&](int row, int col) { return scratch[row * kScratchStride + col]; };
      const auto row_of = [&](int row) { return m0 + sums_row(i, r, row); };
      store_rows<kScratchRows, kWarpN, 1>(to, n0, sum, row_of);
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
    sync_threads();
  }
}

// The same address in the shared memory of another block of the cluster.
__device__ __forceinline__ Accumulator* of_block(Accumulator* mine, unsigned rank) {
  if constexpr (kClusterSums) {
    unsigned long long theirs;
    asm("mapa.u64 %0, %1, %2;" : "=l"(theirs) : "l"(mine), "r"(rank));
    return reinterpret_cast<Accumulator*>(theirs);
  } else {
    return mine;
  }
}

// Every block of a cluster stores as many of the tile's rows. Each warp puts its sums where their rows are stored, beside those
// of the other blocks and slices, and what arrives is added there: a store to another block's memory waits for nothing.
__device__ __forceinline__ void store_summed(const WarpTile& tile, const Destination& to, const WarpPlace& warp,
                                             int block_m0, int block_n0, Accumulator* shared) {
  constexpr int kShare = kBlockM / kClusterK;  // rows a block stores
  constexpr int kParts = kClusterK * kSliceK;
  constexpr int kPart = kShare * kSummedStride;
  static_assert(kBlockM % kClusterK == 0, "a tile's rows must split among the blocks of a cluster");
  const unsigned rank = cluster_rank();
  const int g = int(threadIdx.x % 32 / 4);
  if constexpr (kClusterSums) wait_for_all();  // the other blocks' rings are read
#pragma unroll
  for (int i = 0; i < kLeftCount; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = warp.m0 + sums_row(i, r, g);
      Accumulator* part = of_block(shared, unsigned(row / kShare)) + (rank * kSliceK + warp.slice) * kPart;
      Accumulator* at = part + row % kShare * kSummedStride + warp.n0;
      each_run(tile, i, r, [&](int n, const auto& sums) { put_shared(at + n, sums); });
    }
  }
  wait_for_all();
  const auto sum = [&](int row, int col) {
    Accumulator all = shared[row * kSummedStride + col];
#pragma unroll
    for (int part = 1; part < kParts; ++part) all = added(all, shared[part * kPart + row * kSummedStride + col]);
    return all;
  };
  const auto row_of = [&](int row) { return block_m0 + int(rank) * kShare + row; };
  store_rows<kShare, kBlockN, kMultiplyingThreads / 32>(to, block_n0, sum, row_of);
}

}  // namespace tilesmith
