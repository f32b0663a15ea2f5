// Where the family `mma` leaves a warp's sums, and how it stores them: by one of the ways of shared/store/epilogue.cuh.
#pragma once

#include "kernels/mma/main_loop.cuh"
#include "kernels/shared/store/epilogue.cuh"
#include "kernels/shared/finish/gate_sums.cuh"
#include "kernels/shared/store/swapped_store.cuh"

namespace tilesmith {

constexpr bool kSummed = kSliceK > 1 || kClusterSums;
static_assert(!kSwap || !kStoreStaged, "swapped sums are stored from registers");

// The host computes the same from the config (geometry.cpp).
constexpr int kScratchElements = scratch_elements(kWarpN);  // of a warp
constexpr int kEpilogueElements = kSummed        ? kSliceK * summed_elements(kBlockM, kBlockN)
                                  : kStoreStaged ? kWarpsOfSlice * kScratchElements
                                                 : 0;
constexpr BlockMemory kMemory = block_memory(kRingBytes, kEpilogueElements * int(sizeof(Accumulator)),
                                             kTma ? barrier_bytes(kStages) : 0, kPersistent);
constexpr int kSharedBytes = kMemory.bytes;

class ProductSums {
 public:
  static constexpr int kRowGroups = kLeftCount;
  static constexpr int kColumns = 16 * kRightCount;
  static constexpr int kRowStep = kDealt<LeftTile> == Dealt::in_order ? 1 : kDealt<LeftTile> == Dealt::pairs ? 2 : 0;

  static constexpr bool kInPairs = kDealt<RightTile> == Dealt::in_order;
  static constexpr bool kSwapped = kSwap != 0;
  static constexpr bool kRowPairs = kDealt<LeftTile> != Dealt::in_order;
  static constexpr int kRun = kDealt<RightTile> == Dealt::pairs ? 4 : 2, kRunsPerRow = kColumns / (4 * kRun);

  __device__ __forceinline__ explicit ProductSums(WarpTile& tile) : tile_(tile) {}

  static __device__ __forceinline__ int row_of(int i, int r, int g) { return row_in_warp<kDealt<LeftTile>>(i, r, g); }
  static __device__ __forceinline__ int row(int i, int r) { return row_of(i, r, int(threadIdx.x % 32 / 4)); }

  static __device__ __forceinline__ int first_column() {
    return column_in_warp<kDealt<RightTile>>(0, int(threadIdx.x % 4));
  }
  static __device__ __forceinline__ constexpr int offset(int run) {
    return column_in_warp<kDealt<RightTile>>(run * kInstructions, 0);
  }
  __device__ __forceinline__ Accumulator sum(int i, int r, int run, int e) const {
    return place(i, r, run * kInstructions + e % kInstructions, e / kInstructions);
  }
  __device__ __forceinline__ void get(int i, int r, int run, Accumulator (&sums)[kRun]) const {
#pragma unroll
    for (int e = 0; e < kRun; ++e) sums[e] = sum(i, r, run, e);
  }
  __device__ __forceinline__ void set(int i, int r, int run, const Accumulator (&sums)[kRun]) {
#pragma unroll
    for (int e = 0; e < kRun; ++e) place(i, r, run * kInstructions + e % kInstructions, e / kInstructions) = sums[e];
  }

 private:
  static constexpr int kInstructions = kRun / 2;  // whose sums make a run

  // Of the two sums that the thread holds of 8 columns' instruction, the first or the second.
  __device__ __forceinline__ Accumulator& place(int i, int r, int instruction, int e) const {
    Sums& sums = tile_.sums[i][instruction];
    if constexpr (kPackedSums) {
      return reinterpret_cast<Accumulator*>(&sums.c[r])[e];
    } else {
      return reinterpret_cast<Accumulator&>(sums.c[2 * r + e]);
    }
  }

  WarpTile& tile_;
};

// The gate works on a warp's sums, unless others hold sums of the same elements.
constexpr bool kGatesSums = kIsGated && !kSummed && !kPartials;
using WarpSums = Either<kGatesSums, PairSums<ProductSums>, ProductSums>;
constexpr bool kFewRegisters = kSumRegisters<ProductSums> >= 128;  // beside the sums

// All threads of the block that multiply, or those of all blocks of the cluster.
__device__ __forceinline__ void wait_for_all() {
  if constexpr (kClusterSums) {
    sync_cluster();
  } else {
    sync_threads();
  }
}

// Prefetches what the epilogue will read of C and its vectors. `args`: those of the item's entry.
template <typename Args>
__device__ __forceinline__ void prefetch_for_epilogue(const Args& args, const Work& work) {
  const Destination to(args, work.slice / kClusterK);
  fetch_held<kMultiplyingThreads>(to.held(), work.m0, work.n0, kBlockM, kBlockN, int(threadIdx.x));
  if constexpr (kIsGated) {
    fetch_pair_vectors<kMultiplyingThreads>(to, work.m0, work.n0, kBlockM, kBlockN, int(threadIdx.x));
  } else {
    fetch_vectors<kMultiplyingThreads>(to, work.m0, work.n0, kBlockM, kBlockN, int(threadIdx.x));
  }
}

// Applies the epilogue in registers, unless other warps or blocks hold parts of these sums. Returns where the sums go.
__device__ __forceinline__ Destination apply_epilogue(WarpTile& tile, WarpSums& sums, const Destination& to, int m0,
                                                      int n0) {
  if constexpr (kGatesSums) {
    return gate(ProductSums(tile), to, m0, n0);
  } else if constexpr (kHasEpilogue && !kIsGated && !kSummed && !kPartials) {
    return fuse(sums, to, m0, n0);
  } else {
    return to;
  }
}

// Stores an item's sums. `args`: those of the item's entry; `shared`: the block's shared memory.
template <typename Args>
__device__ __forceinline__ void store(WarpTile& tile, MainLoop& loop, const Args& args, const Work& work,
                                      const WarpPlace& warp, unsigned char* shared) {
  const Destination raw(args, work.slice / kClusterK);
  const int m0 = work.m0 + warp.m0, n0 = (work.n0 + warp.n0) / (kGatesSums ? 2 : 1);
  WarpSums sums(tile);
  const Destination to = apply_epilogue(tile, sums, raw, m0, n0);
  if constexpr (kSummed) {
    loop.drain();
    store_summed<kSliceK, kMultiplyingThreads>(sums, to, warp, work.m0, work.n0, reinterpret_cast<Accumulator*>(shared),
                                               [] { wait_for_all(); });
  } else if constexpr (kStoreStaged) {
    if constexpr (!kPersistent) loop.drain();
    Accumulator* scratch = reinterpret_cast<Accumulator*>(shared + kMemory.epilogue_at);
    store_staged(sums, to, m0, n0, scratch + int(threadIdx.x / 32) * kScratchElements);
  } else if constexpr (kSwap) {
    constexpr bool kTwiceIfTight = false, kFenced = true;
    SwappedStore<WarpSums, kTwiceIfTight, kFenced>::store(sums, to, m0, n0);
  } else {
    store_blended<kFewRegisters, true>(sums, to, m0, n0,
                                       [&](const Destination& over) { store_direct(sums, over, m0, n0); });
  }
}

}  // namespace tilesmith
