// Where the family `mma` leaves a warp's sums, and what its ways to store them (tensor_core/epilogue.cuh) need of shared memory.
#pragma once

#include "kernels/mma/main_loop.cuh"
#include "kernels/tensor_core/epilogue.cuh"

namespace tilesmith {

constexpr bool kSummed = kSliceK > 1 || kClusterSums;

// The host computes the same from the config (geometry.cpp).
constexpr int kScratchElements = scratch_elements(kWarpN);  // of a warp
constexpr int kEpilogueElements = kSummed        ? kSliceK * summed_elements(kBlockM, kBlockN)
                                  : kStoreStaged ? kWarpsOfSlice * kScratchElements
                                                 : 0;
constexpr BlockMemory kMemory = block_memory(kRingBytes, kEpilogueElements * int(sizeof(Accumulator)),
                                             kTma ? barrier_bytes(kStages) : 0, kPersistent);
constexpr int kSharedBytes = kMemory.bytes;

class WarpSums {
 public:
  static constexpr int kRowGroups = kLeftCount;
  static constexpr int kColumns = kWarpN;
  static constexpr int kRowStep = kDealt<LeftTile> == Dealt::in_order ? 1 : kDealt<LeftTile> == Dealt::pairs ? 2 : 0;

  static constexpr bool kInPairs = kDealt<RightTile> == Dealt::in_order;
  static constexpr bool kSwapped = false;

  __device__ __forceinline__ explicit WarpSums(const WarpTile& tile) : tile_(tile) {}

  static __device__ __forceinline__ int row_of(int i, int r, int g) { return row_in_warp<kDealt<LeftTile>>(i, r, g); }
  static __device__ __forceinline__ int row(int i, int r) { return row_of(i, r, int(threadIdx.x % 32 / 4)); }

  template <typename Put>
  __device__ __forceinline__ void each_run(int i, int r, int first, int columns, Put put) const {
    const int t = int(threadIdx.x % 4);
    constexpr Dealt kHow = kDealt<RightTile>;
    if constexpr (kHow == Dealt::pairs) {
#pragma unroll
      for (int j = first / 8; j < (first + columns) / 8; j += 2) {
        const Accumulator run[4] = {sum(i, r, j, 0), sum(i, r, j + 1, 0), sum(i, r, j, 1), sum(i, r, j + 1, 1)};
        put(column_in_warp<kHow>(j, t), run);
      }
    } else {
#pragma unroll
      for (int j = first / 8; j < (first + columns) / 8; ++j) {
        const Accumulator run[2] = {sum(i, r, j, 0), sum(i, r, j, 1)};
        put(column_in_warp<kHow>(j, t), run);
      }
    }
  }

 private:
  // Of the two sums that the thread holds of 8 columns' instruction, the first or the second.
  __device__ __forceinline__ Accumulator sum(int i, int r, int instruction, int e) const {
    const Sums& sums = tile_.sums[i][instruction];
    if constexpr (kPackedSums) {
      return reinterpret_cast<const Accumulator*>(&sums.c[r])[e];
    } else {
      return sums.c[2 * r + e];
    }
  }

  const WarpTile& tile_;
};

// All threads of the block that multiply, or those of all blocks of the cluster.
__device__ __forceinline__ void wait_for_all() {
  if constexpr (kClusterSums) {
    sync_cluster();
  } else {
    sync_threads();
  }
}

}  // namespace tilesmith
