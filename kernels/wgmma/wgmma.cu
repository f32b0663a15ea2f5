// Family `wgmma`: C ← α·op(A)·op(B) + β·C with PTX wgmma and the tensor memory accelerator (sm_90a).
//
//   global ──TMA──▶ shared: kStages × (left tile, right tile) ──wgmma──▶ sums in registers ──▶ C
//          one thread (copy.cuh)   panels of 128-byte rows        warpgroups             (finish.cuh)
//                                  (stage.cuh)                    (group_tile.cuh)
//
// shape.cuh says who multiplies what; shared/work/work.cuh which tiles a block computes; even_tiles.cuh how columns are
// dealt among tiles of two widths.
#include "kernels/shared/load/pack_operands.cuh"
#include "kernels/wgmma/finish.cuh"
// It needs to know whether launches overlap (kOverlap, shape.cuh).
#include "kernels/shared/work/overlap.cuh"

namespace tilesmith {

// Ping-pong: the groups take turns, one multiplies while the other stores.
constexpr bool kTakesTurns = kSchedule == kPingPong;

// Waits until the other group has multiplied, or tells the other that this one has.
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

}  // namespace tilesmith

extern "C" __global__ void __launch_bounds__(tilesmith::Trade::kThreads, tilesmith::kMinBlocks)
    gemm(const __grid_constant__ tilesmith::TensorGemmArgs args) {
  using namespace tilesmith;
  extern __shared__ __align__(1024) unsigned char shared[];

  if (threadIdx.x == kMultiplyingThreads) {  // before all that the first copy waits for
    prefetch_maps(args);
    if constexpr (kStoreTma) prefetch_map(args.d);
  }
  WorkList list(args.gemm);
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
  list.read(fault_to_report(args.gemm));
  if (kIsGrouped && cluster.first >= list.count()) {  // then the cluster's other blocks leave, too
    if (warp < kCopyingWarp) sync_some<kReady, kMultiplyingThreads + 32>();
    return;
  }
  const Tiles tiles(args, list, cluster);
  if (warp == kCopyingWarp) start_first_copies(ring, tiles);
  if (warp >= kCopyingWarp) {
    Trade::take<true>();
    if (warp == kCopyingWarp) {
      const RingPlace end = go_on_copying(ring, tiles);
      // The block must not end while others still arrive at its barriers. (What they copy into it, it waits for
      // itself.)
      if constexpr (kSharingBlocks > 1) ring.wait_until_all_free(end);
    }
    return;
  }
  sync_some<kReady, kMultiplyingThreads + 32>();
  Trade::take<false>();
  const WarpPlace place{int(warp)};
  const int group = kTileGroups == 1 ? 0 : int(warp / 4);  // of those that share a tile
  const bool second = kTakesTurns && warp / 4 == 1;
  RingReader reader(ring);
  GroupTile tile;
  Ahead ahead;
  Finish finish(args, place, shared, ahead);
  // In ping-pong a group could not wait for stages more than one round of the ring ahead, since a barrier tells rounds
  // apart only by their parity. So the groups multiply in turns, and each skips the other's steps. All items have
  // equally many.
  if (second) reader.skip(list.at(cluster.first).steps());
  const unsigned step = kTakesTurns ? 2 * cluster.step : cluster.step;
  for (unsigned item = cluster.first + (second ? cluster.step : 0); !kPersistent || item < list.count(); item += step) {
    const ItemWork work = cluster.place(list.at(item));
    finish.fetch(work);
    tile.begin(args.gemm, work, place, group);
    if (kTakesTurns && item != cluster.first) take_turn(second);
    tile.accumulate(reader, work.steps(), group, is_narrow(work), finish.beside(work));
    if (kTakesTurns && item + cluster.step < list.count()) give_turn(!second);
    finish.store(tile, work);
    if (!kPersistent) break;
    if (kTakesTurns) reader.skip(work.steps());
  }
  if constexpr (kStoreTma) wait_until_stores_are_read<0>();  // shared memory is freed when the block ends
}

extern "C" __global__ void __launch_bounds__(tilesmith::kPackThreads)
    pack(const __grid_constant__ tilesmith::GemmArgs args) {
  using namespace tilesmith;
  let_launch_after_come();
  wait_for_stream();
  // Of f32x3 the right operand is split.
  pack_operands<true, true, kThreeProducts && kSwap ? 2 : 1, kThreeProducts && !kSwap ? 2 : 1>(args);
}
