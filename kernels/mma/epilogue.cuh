// Where the family `mma` leaves a warp's sums, and what its ways to store them (tensor_core/epilogue.cuh) need of shared memory.
#pragma once

#include "kernels/mma/main_loop.cuh"
#include "kernels/tensor_core/epilogue.cuh"

namespace tilesmith {

constexpr bool kSummed = kSliceK > 1 || kClusterSums;

// What the launch must ask for: the ring; what the epilogue needs, in the ring's place where no copy is under way then; the
// ring's barriers. The host computes the same from the config (geometry.cpp).
constexpr int kScratchElements = scratch_elements(kWarpN);  // of a warp
constexpr int kScratchBytes =
    kStoreStaged && !kSummed ? kWarpsOfSlice * kScratchElements * int(sizeof(Accumulator)) : 0;
constexpr int kSummedBytes = kSummed ? kSliceK * summed_elements(kBlockM, kBlockN) * int(sizeof(Accumulator)) : 0;
constexpr int kOverlaidBytes = kSummedBytes > kScratchBytes ? kSummedBytes : kScratchBytes;
constexpr int kScratchAt = kPersistent ? kRingBytes : 0;
constexpr int kBarriersAt = kPersistent                   ? kRingBytes + kScratchBytes
                            : kRingBytes > kOverlaidBytes ? kRingBytes
                                                          : kOverlaidBytes;
constexpr int kSharedBytes = kBarriersAt + kBarrierBytes;

class WarpSums {
 public:
  static constexpr int kRowGroups = kLeftCount;
  static constexpr int kColumns = kWarpN;
  static constexpr int kRowStep = kDealt<LeftTile> == Dealt::in_order ? 1 : kDealt<LeftTile> == Dealt::pairs ? 2 : 0;

  __device__ __forceinline__ explicit WarpSums(const WarpTile& tile) : tile_(tile) {}

  static __device__ __forceinline__ int row_of(int i, int r, int g) { return row_in_warp<kDealt<LeftTile>>(i, r, g); }
  static __device__ __forceinline__ int row(int i, int r) { return row_of(i, r, int(threadIdx.x % 32 / 4)); }

  // All columns at a time.
  template <typename Put>
  __device__ __forceinline__ void each_run(int i, int r, int, int, Put put) const {
    const int t = int(threadIdx.x % 4);
    constexpr Dealt kHow = kDealt<RightTile>;
    if constexpr (kHow == Dealt::pairs) {
#pragma unroll
      for (int j = 0; j < 2 * kRightCount; j += 2) {
        const Accumulator run[4] = {sum(i, r, j, 0), sum(i, r, j + 1, 0), sum(i, r, j, 1), sum(i, r, j + 1, 1)};
        put(column_in_warp<kHow>(j, t), run);
      }
    } else {
#pragma unroll
      for (int j = 0; j < 2 * kRightCount; ++j) {
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
