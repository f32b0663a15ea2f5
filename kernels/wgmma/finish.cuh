// How the family `wgmma` finishes a tile: what C and the epilogue's vectors hold is fetched while the tile is
// multiplied, then the sums go through the epilogue (ahead.cuh) and into C by one of the ways to store them.
#pragma once

#include "kernels/shared/store/swapped_store.cuh"
#include "kernels/wgmma/ahead.cuh"
#include "kernels/wgmma/swapped_box_store.cuh"

namespace tilesmith {

// The host computes the same from the config (geometry.cpp).
constexpr int kScratchElements = scratch_elements(kRightExtent);  // of a warp
constexpr int kEpilogueElements = kClusterSums   ? summed_elements(kBlockM, kBlockN)
                                  : kStoreStaged ? kWarpgroups * 4 * kScratchElements
                                                 : 0;
constexpr int kEpilogueBytes =
    kStoreTma ? kBoxes * kBoxBytes : kEpilogueElements * int(sizeof(Accumulator));
constexpr BlockMemory kMemory = block_memory(kRingBytes, kEpilogueBytes, barrier_bytes(kStages), kKeepsRing);
constexpr int kSharedBytes = kMemory.bytes;

// Where an item's sums go.
struct ItemDestination : Destination {
  __device__ __forceinline__ ItemDestination(const GemmArgs& args, const ItemWork& work)
      : Destination(within(args, work), work.slice / kClusterK) {
    if constexpr (kIsGated && !kPartials) end_at(last_pair(work));
  }
};

constexpr bool kFusesAhead = kHasEpilogue && (kIsGated ? kGatesSums && !kSwap : !kClusterSums && !kPartials);
using Ahead = Either<!kFusesAhead, NothingAhead, Either<kIsGated, GatedAhead<ProductSums>, FusedAhead<WarpSums>>>;

class Finish {
 public:
  // `ahead` is an object of its own, not a member: the compiler then numbers registers as it did when the recorded
  // kernels were timed.
  __device__ __forceinline__ Finish(
      const TensorGemmArgs& args, const WarpPlace& place, unsigned char* shared, Ahead& ahead)
      : args_(args), place_(place), shared_(shared), ahead_(ahead) {}

  // Before the item is multiplied.
  __device__ __forceinline__ void fetch(const ItemWork& work) {
    constexpr int kThreadsOfTile = kTileGroups * 128;
    const int thread = int(threadIdx.x) % kThreadsOfTile;
    if constexpr (!kHasEpilogue) {
      fetch_held<kThreadsOfTile>(ItemDestination(args_.gemm, work), work.m0, work.n0, kBlockM, kBlockN, thread);
    } else {
      const ItemDestination to(args_.gemm, work);
      if (!ahead_.brings_held(to)) fetch_held<kThreadsOfTile>(to.held(), work.m0, work.n0, kBlockM, kBlockN, thread);
      if constexpr (kFusesAhead) {
        ahead_.load(to, work.m0 + place_.m0, (work.n0 + place_.n0) / (kIsGated ? 2 : 1), work.steps());
      } else if constexpr (kIsGated) {
        fetch_pair_vectors<kThreadsOfTile>(to, work.m0, work.n0, kBlockM, kBlockN, thread);
      } else {
        fetch_vectors<kThreadsOfTile>(to, work.m0, work.n0, kBlockM, kBlockN, thread);
      }
    }
  }

  // What is done while an item is multiplied, step by step.
  __device__ __forceinline__ auto beside(const ItemWork& work) {
    if constexpr (kFusesAhead) {
      return [&ahead = ahead_, &args = args_, &place = place_, &work](int step) {
        if (ahead.goes_on(step))
          ahead.go_on(ItemDestination(args.gemm, work), work.m0 + place.m0, work.n0 + place.n0, step);
      };
    } else {
      return [](int) {};
    }
  }

  // If kKeepsRing is not set, all copies into the ring have landed and this warp has ended all its reads of it.
  __device__ __forceinline__ void store(GroupTile& tile, const ItemWork& work) {
    const ItemDestination raw(args_.gemm, work);
    const Destination to = ahead_.finish(tile, raw, work.m0 + place_.m0, work.n0 + place_.n0);
    const MapOfEntry c{args_.d, kIsGrouped ? 0 : int(work.entry)};  // all groups share one C
    WarpSums sums(tile);
    const int m0 = work.m0 + place_.m0, n0 = (work.n0 + place_.n0) / (kGatesSums ? 2 : 1);
    if constexpr (kClusterSums) {
      store_summed<1, kMultiplyingThreads>(sums, to, place_, work.m0, work.n0, reinterpret_cast<Accumulator*>(shared_),
                                           [] { sync_cluster(); });
    } else if constexpr (kStoreStaged && !kStoreTma) {
      wait_until_ring_is_read();
      Accumulator* scratch = reinterpret_cast<Accumulator*>(shared_ + kMemory.epilogue_at);
      store_staged(sums, to, m0, n0, scratch + int(threadIdx.x / 32) * kScratchElements);
    } else if constexpr (kSwap && kGatesSums) {
      store_swapped_pairs(sums, to, m0, work.n0 + place_.n0);
    } else if constexpr (kSwap && !kStoreTma) {
      constexpr bool kTwiceIfTight = kEven != 0 && !kPackedSums;  // it spills less than once, of tiles with two loops
      SwappedStore<WarpSums, kTwiceIfTight, kPackedSums>::store(sums, to, m0, n0);
    } else {
      constexpr bool kTight = kSumRegisters<WarpSums> >= 128;
      store_blended<kTight, kPackedSums>(
          sums, to, m0, n0, [&](const Destination& over) { store_over(sums, over, c, work, m0, n0); });
    }
  }

 private:
  __device__ __forceinline__ void wait_until_ring_is_read() const {
    if constexpr (!kKeepsRing) sync_some<kRead, kMultiplyingThreads>();
  }

  // Over what C holds.
  __device__ __forceinline__ void store_over(
      const WarpSums& sums, const Destination& to, const MapOfEntry& c, const ItemWork& work, int m0, int n0) const {
    if constexpr (kStoreTma) {
      wait_until_ring_is_read();
      unsigned char* boxes = shared_ + kMemory.epilogue_at;
      if constexpr (kSwap) {
        store_by_swapped_boxes(
            sums, to, c, work.m0, work.n0, place_.n0, boxes, [] { sync_some<kRead, kMultiplyingThreads>(); });
      } else {
        store_by_boxes(sums, to, c, m0, n0, boxes);
      }
    } else {
      store_direct(sums, to, m0, n0);
    }
  }

  const TensorGemmArgs& args_;
  const WarpPlace& place_;
  unsigned char* shared_;
  Ahead& ahead_;  // of the item that is multiplied
};

}  // namespace tilesmith
