// Family `wgmma`: C ← α·op(A)·op(B) + β·C with PTX wgmma and the tensor memory accelerator (sm_90a).
//
//   global ──TMA──▶ shared: kStages × (left tile, right tile) ──wgmma──▶ sums in registers ──▶ C
//          one thread (copy.cuh)   panels of 128-byte rows        warpgroups             (tensor_core: epilogue.cuh,
//                                  (stage.cuh)                    (group_tile.cuh)        swapped_store.cuh; box_store.cuh)
//
// shape.cuh says who multiplies what; tensor_core/work.cuh which tiles a block computes; even_tiles.cuh how columns are dealt
// among tiles of two widths.
#include "kernels/tensor_core/pack_operands.cuh"
#include "kernels/tensor_core/swapped_store.cuh"
#include "kernels/wgmma/swapped_box_store.cuh"
// These want to know whether launches overlap (kOverlap, shape.cuh).
#include "kernels/tensor_core/passes.cuh"
#ifdef TILESMITH_EPILOGUE
#include "kernels/wgmma/ahead.cuh"
#endif

namespace tilesmith {

constexpr bool kSummed = kClusterSums;

// The host computes the same from the config (geometry.cpp).
constexpr int kScratchElements = scratch_elements(kRightExtent);  // of a warp
constexpr int kEpilogueElements = kSummed        ? summed_elements(kBlockM, kBlockN)
                                  : kStoreStaged ? kWarpgroups * 4 * kScratchElements
                                                 : 0;
constexpr int kEpilogueBytes =
    kStoreTma ? kBoxes * kBoxBytes : kEpilogueElements * int(sizeof(Accumulator));
constexpr BlockMemory kMemory = block_memory(kRingBytes, kEpilogueBytes, barrier_bytes(kStages), kKeepsRing);
constexpr int kSharedBytes = kMemory.bytes;

// Ping-pong: waits until the other group has multiplied, or tells the other that this one has.
__device__ __forceinline__ void take_turn(bool second) {
  if (second) {
    sync_some<kTurnOfSecond, kMultiplyingThreads>();
  } else {
    sync_some<kTurnOfFirst, kMultiplyingThreads>();
  }
}
__device__ __forceinline__ void give_turn(bool to_second) {
  if (to_second) {
    arrive_at_some<kTurnOfSecond, kMultiplyingThreads>();
  } else {
    arrive_at_some<kTurnOfFirst, kMultiplyingThreads>();
  }
}

// The sums of an item, over what C holds.
#ifndef TILESMITH_BATCH
__device__ __forceinline__ void store_over(const WarpSums& sums, const Destination& to, const TensorMap& map,
#else
__device__ __forceinline__ void store_over(const WarpSums& sums, const Destination& to, const MapOfC& map,
#endif
                                           const Work& work, const WarpPlace& place, unsigned char* shared) {
#ifdef TILESMITH_GATED
  const int m0 = work.m0 + place.m0, n0 = (work.n0 + place.n0) / (kGatesSums ? 2 : 1);
#else
  const int m0 = work.m0 + place.m0, n0 = work.n0 + place.n0;
#endif
  if constexpr (kStoreTma) {
    if constexpr (!kKeepsRing) sync_some<kRead, kMultiplyingThreads>();  // the ring is read
    unsigned char* boxes = shared + kMemory.epilogue_at;
    if constexpr (kSwap) {
      store_by_swapped_boxes(sums, to, map, work.m0, work.n0, place.n0, boxes,
                             [] { sync_some<kRead, kMultiplyingThreads>(); });
    } else {
      store_by_boxes(sums, to, map, m0, n0, boxes);
    }
  } else {
    store_direct(sums, to, m0, n0);
  }
}

// All copies into the ring have landed, and all reads of it by this warp have ended, where kKeepsRing is not set.
#ifndef TILESMITH_BATCH
__device__ __forceinline__ void store(GroupTile& tile, const Destination& to, const TensorMap& map, const Work& work,
#else
__device__ __forceinline__ void store(GroupTile& tile, const Destination& to, const MapOfC& map, const Work& work,
#endif
                                      const WarpPlace& place, unsigned char* shared) {
  WarpSums sums(tile);
#ifdef TILESMITH_GATED
  const int m0 = work.m0 + place.m0, n0 = (work.n0 + place.n0) / (kGatesSums ? 2 : 1);
#else
  const int m0 = work.m0 + place.m0, n0 = work.n0 + place.n0;
#endif
  if constexpr (kSummed) {
    store_summed<1, kMultiplyingThreads>(sums, to, place, work.m0, work.n0, reinterpret_cast<Accumulator*>(shared),
                                         [] { sync_cluster(); });
  } else if constexpr (kStoreStaged && !kStoreTma) {
    if constexpr (!kKeepsRing) sync_some<kRead, kMultiplyingThreads>();  // the ring is read
    Accumulator* scratch = reinterpret_cast<Accumulator*>(shared + kMemory.epilogue_at);
    store_staged(sums, to, m0, n0, scratch + int(threadIdx.x / 32) * kScratchElements);
#ifdef TILESMITH_GATED
  } else if constexpr (kSwap && kGatesSums) {
    store_swapped_pairs(sums, to, m0, work.n0 + place.n0);
#endif
  } else if constexpr (kSwap && !kStoreTma) {
    constexpr bool kTwiceIfTight = kEven != 0 && !kPackedSums;  // it spills less than once, of tiles with two loops
    SwappedStore<WarpSums, kTwiceIfTight, kPackedSums>::store(sums, to, m0, n0);
  } else {
    constexpr bool kTight = kSumRegisters<WarpSums> >= 128;
    store_blended<kTight, kPackedSums>(sums, to, m0, n0, [&](const Destination& over) {
      store_over(sums, over, map, work, place, shared);
    });
  }
}

}  // namespace tilesmith

extern "C" __global__ void __launch_bounds__(tilesmith::kThreads, tilesmith::kMinBlocks)
    gemm(const __grid_constant__ tilesmith::TensorGemmArgs kernel_args) {
  using namespace tilesmith;
  extern __shared__ __align__(1024) unsigned char shared[];

  if (threadIdx.x == kMultiplyingThreads) {  // before all that the first copy waits for
    prefetch_maps(kernel_args);
    if constexpr (kStoreTma) prefetch_map(kernel_args.d);
  }
  const GemmArgs& args = kernel_args.gemm;
#ifdef TILESMITH_GROUPED
  WorkList list(args);
#else
  const WorkList list(args);
#endif
  const unsigned shared_at = unsigned(__cvta_generic_to_shared(shared));
  const Ring ring(shared_at, shared_at + kMemory.barriers_at);
  const ClusterPlace cluster(kSharingBlocks > 1 ? rank_in_cluster() : 0);
  let_launch_after_come();
  const unsigned warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);  // in a way that tells the compiler it is uniform
  constexpr unsigned kCopyingWarp = kMultiplyingThreads / 32;
  if (warp == kCopyingWarp) {
    if (threadIdx.x % 32 == 0) ring.init(kReadingWarps);
    __syncwarp();
    arrive_at_some<kReady, kMultiplyingThreads + 32>();
  }
  if constexpr (kSharingBlocks > 1) {  // other blocks' barriers are there to be copied to
    arrive_at_cluster();
    wait_for_cluster();
  }
  wait_for_launch_before();
#ifdef TILESMITH_GROUPED
  list.read(fault_to_report(args));
  if (cluster.first >= list.count()) {  // so do the cluster's other blocks
    if (warp < kCopyingWarp) sync_some<kReady, kMultiplyingThreads + 32>();
    return;
  }
#endif
  const Tiles tiles(kernel_args, list, cluster);
  if (warp == kCopyingWarp) start_first_copies(ring, tiles);
  if (warp >= kCopyingWarp) {
    trade_registers<true>();
    if (warp == kCopyingWarp) {
      const RingPlace end = go_on_copying(ring, tiles);
      // The block must not end while others still tell it what they have read. (What they copy into it, it waits for itself.)
      if constexpr (kSharingBlocks > 1) ring.wait_until_all_free(end);
    }
    return;
  }
  sync_some<kReady, kMultiplyingThreads + 32>();
  trade_registers<false>();
  const WarpPlace place{int(warp)};
  const int group = kWarpgroups == 1 ? 0 : int(warp / 4);
  RingReader reader(ring);
  GroupTile tile;
#ifdef TILESMITH_EPILOGUE
#ifdef TILESMITH_GATED
  constexpr bool kFusesAhead = kGatesSums && !kSwap;
  constexpr int kColumnsOfD = 2;  // of the product's that one of D takes
  using Ahead = FusedAhead<ProductSums>;
#else
  constexpr bool kFusesAhead = !kSummed && !kPartials;
  constexpr int kColumnsOfD = 1;
  using Ahead = FusedAhead<WarpSums>;
#endif
  Either<kFusesAhead, Ahead, NothingAhead> ahead;  // of the item that is multiplied
#endif
  const auto store_item = [&](const ItemWork& work) {
#ifdef TILESMITH_EPILOGUE
#ifdef TILESMITH_GATED
    const Destination raw = Destination(within(args, work), work.slice / kClusterK).ending_at(kPartials ? 0x7fffffff : last_pair(work));
    const Destination to = ahead.gate(ProductSums(tile), raw);
#else
    const Destination raw(within(args, work), work.slice / kClusterK);
    const Destination to = ahead.fuse(WarpSums(tile), raw, work.m0 + place.m0, work.n0 + place.n0);
#endif
#ifdef TILESMITH_BATCH
    store(tile, to, MapOfC{kernel_args.d, work.entry}, work, place, shared);
#else
    store(tile, to, kernel_args.d, work, place, shared);
#endif
#else
#ifndef TILESMITH_BATCH
    store(tile, Destination(within(args, work), work.slice / kClusterK), kernel_args.d, work, place, shared);
#else
    store(tile, Destination(within(args, work), work.slice / kClusterK), MapOfC{kernel_args.d, work.entry}, work, place, shared);
#endif
#endif
  };
  const auto fetch = [&](const ItemWork& work) {
    constexpr int kThreadsOfTile = kTileGroups * 128;
#ifdef TILESMITH_EPILOGUE
    const Destination to(within(args, work), work.slice / kClusterK);
    const int thread = int(threadIdx.x) % kThreadsOfTile;
    if (!ahead.brings_held(to)) fetch_held<kThreadsOfTile>(to.held(), work.m0, work.n0, kBlockM, kBlockN, thread);
    ahead.load(to, work.m0 + place.m0, (work.n0 + place.n0) / kColumnsOfD, work.steps());
#ifdef TILESMITH_GATED
    if constexpr (!kFusesAhead) fetch_pair_vectors<kThreadsOfTile>(to, work.m0, work.n0, kBlockM, kBlockN, thread);
#else
    if constexpr (!kFusesAhead) fetch_vectors<kThreadsOfTile>(to, work.m0, work.n0, kBlockM, kBlockN, thread);
#endif
#else
    fetch_held<kThreadsOfTile>(Destination(within(args, work), work.slice / kClusterK), work.m0, work.n0, kBlockM, kBlockN,
                               int(threadIdx.x) % kThreadsOfTile);
#endif
  };
#ifdef TILESMITH_EPILOGUE
  // What is done while an item is multiplied, step by step.
  const auto beside = [&](const ItemWork& work) {
    return [&](int step) {
      if (ahead.goes_on(step))
        ahead.go_on(Destination(within(args, work), work.slice / kClusterK), work.m0 + place.m0, work.n0 + place.n0, step);
    };
  };
#endif
  if constexpr (kSchedule == kOneTile) {
    const ItemWork work = cluster.place(list.at(cluster.first));
    fetch(work);
#ifdef TILESMITH_SPARSE
    tile.begin(sparse_of(args), kSwap ? work.n0 : work.m0, group);
#endif
#ifdef TILESMITH_WEIGHTS
    tile.begin_weights(args, work.n0 + place.n0, work.k0);
#endif
#ifdef TILESMITH_EPILOGUE
    tile.accumulate(reader, work.steps(), group, is_narrow(work), beside(work));
#else
    tile.accumulate(reader, work.steps(), group, is_narrow(work));
#endif
    store_item(work);
  } else if constexpr (kSchedule == kCooperative) {
    for (unsigned item = cluster.first; item < list.count(); item += cluster.step) {
      const ItemWork work = cluster.place(list.at(item));
      fetch(work);
#ifdef TILESMITH_SPARSE
      tile.begin(sparse_of(args), kSwap ? work.n0 : work.m0, group);
#endif
#ifdef TILESMITH_WEIGHTS
      tile.begin_weights(args, work.n0 + place.n0, work.k0);
#endif
#ifdef TILESMITH_EPILOGUE
      tile.accumulate(reader, work.steps(), group, is_narrow(work), beside(work));
#else
      tile.accumulate(reader, work.steps(), group, is_narrow(work));
#endif
      store_item(work);
    }
  } else {
    // The groups take turns: one multiplies while the other stores. Nor could a group wait for stages that lie further ahead
    // than one round of the ring: a barrier tells rounds apart by their parity. All items have as many steps.
    const bool second = group == 1;
    if (second) reader.skip(list.at(cluster.first).steps());
    for (unsigned item = cluster.first + (second ? cluster.step : 0); item < list.count(); item += 2 * cluster.step) {
      const ItemWork work = cluster.place(list.at(item));
      fetch(work);
#ifdef TILESMITH_WEIGHTS
      tile.begin_weights(args, work.n0 + place.n0, work.k0);
#endif
      if (item != cluster.first) take_turn(second);
#ifdef TILESMITH_SPARSE
      tile.begin(sparse_of(args), kSwap ? work.n0 : work.m0, 0);
#endif
#ifdef TILESMITH_EPILOGUE
      tile.accumulate(reader, work.steps(), 0, is_narrow(work), beside(work));
#else
      tile.accumulate(reader, work.steps(), 0, is_narrow(work));
#endif
      if (item + cluster.step < list.count()) give_turn(!second);
      store_item(work);
      reader.skip(work.steps());
    }
  }
  if constexpr (kStoreTma) wait_until_stores_are_read<0>();  // shared memory is the block's no longer than the block runs
}

extern "C" __global__ void __launch_bounds__(tilesmith::kPackThreads)
    pack(const __grid_constant__ tilesmith::GemmArgs args) {
  using namespace tilesmith;
  let_launch_after_come();
  wait_for_stream();
  // Of f32x3 the right operand is split.
  pack_operands<true, true, kThreeProducts && kSwap ? 2 : 1, kThreeProducts && !kSwap ? 2 : 1>(args);
}
