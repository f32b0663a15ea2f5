// Family `wgmma` where sums are scaled step by step: of A and B with scales of blocks of K (scaled_tile.cuh), or of
// weights beside an A of 8 bits (coded_tile.cuh). Copies and stages are wgmma.cu's; what the epilogue reads from memory
// is read as it is used.
#include "kernels/shared/finish/gate_sums.cuh"
#include "kernels/shared/load/pack_operands.cuh"
#include "kernels/shared/store/epilogue.cuh"
#include "kernels/shared/store/swapped_store.cuh"
#include "kernels/wgmma/coded_tile.cuh"
#include "kernels/wgmma/scaled_tile.cuh"
// It needs to know whether launches overlap (kOverlap, shape.cuh).
#include "kernels/shared/work/overlap.cuh"

namespace tilesmith {

static_assert(kSchedule != kPingPong && kStagger == 0 && kEven == 0 && !kStoreTma && !(kIsGated && kHasWeights));

// Sums, and parts of them, fill the registers.
using Trade = RegisterTrade<kMinBlocks == 1 && (kWarpgroups > 1)>;

using StepTile = Either<kHasWeights, CodedTile<CodeBytes<LeftTile>>, ScaledTile<LeftDescriptors<LeftTile>>>;

// Where the instruction leaves a warp's sums, for the epilogue: rows along the left operand's extent.
class ScaledSums {
 public:
  static constexpr int kRowGroups = kLeftTiles;
  static constexpr int kColumns = kRightExtent;
  static constexpr int kRowStep = PlainLeft::kRowStep;
  static constexpr bool kInPairs = true;
  static constexpr bool kSwapped = kSwap != 0;
  static constexpr bool kRowPairs = false;
  static constexpr int kRun = 2, kRunsPerRow = kColumns / 8;

  __device__ __forceinline__ explicit ScaledSums(StepTile& tile) : tile_(tile) {}

  static __device__ __forceinline__ int row_of(int i, int r, int g) { return PlainLeft::row(i, r, g); }
  static __device__ __forceinline__ int row(int i, int r) { return row_of(i, r, int(threadIdx.x % 32 / 4)); }
  static __device__ __forceinline__ int first_column() { return 2 * int(threadIdx.x % 4); }
  static __device__ __forceinline__ constexpr int offset(int run) { return 8 * run; }
  __device__ __forceinline__ Accumulator sum(int i, int r, int run, int e) const { return tile_.sum(i, r, run, e); }
  __device__ __forceinline__ void get(int i, int r, int run, Accumulator (&sums)[kRun]) const {
#pragma unroll
    for (int e = 0; e < kRun; ++e) sums[e] = tile_.sum(i, r, run, e);
  }
  __device__ __forceinline__ void set(int i, int r, int run, const Accumulator (&sums)[kRun]) {
#pragma unroll
    for (int e = 0; e < kRun; ++e) tile_.sum(i, r, run, e) = sums[e];
  }

 private:
  StepTile& tile_;
};

// The gate works on a warp's sums, unless others hold sums of the same elements.
constexpr bool kGatesSums = kIsGated && !kPartials && !kClusterSums;
using WarpSums = Either<kGatesSums && !kSwap, PairSums<ScaledSums>, ScaledSums>;

// The host computes the same from the config (geometry.cpp).
constexpr int kScratchElements = scratch_elements(kRightExtent);  // of a warp
constexpr int kEpilogueElements = kClusterSums   ? summed_elements(kBlockM, kBlockN)
                                  : kStoreStaged ? kWarpgroups * 4 * kScratchElements
                                                 : 0;
constexpr BlockMemory kMemory =
    block_memory(kRingBytes, kEpilogueElements * int(sizeof(Accumulator)), barrier_bytes(kStages), kKeepsRing);

__device__ __forceinline__ void store_scaled(
    StepTile& tile, const GemmArgs& all, const ItemWork& work, const WarpPlace& place, unsigned char* shared) {
  const Destination raw(within(all, work), work.slice / kClusterK);
  const int m0 = work.m0 + place.m0, product_n0 = work.n0 + place.n0, n0 = product_n0 / (kGatesSums ? 2 : 1);
  WarpSums sums(tile);
  if constexpr (kClusterSums) {
    store_summed<1, kMultiplyingThreads>(sums, raw, place, work.m0, work.n0, reinterpret_cast<Accumulator*>(shared),
                                         [] { sync_cluster(); });
    return;
  }
  if constexpr (kGatesSums && kSwap) {
    store_swapped_pairs(sums, raw, m0, product_n0);
    return;
  }
  const Destination to = [&] {
    if constexpr (kGatesSums && !kSwap) {
      return gate(ScaledSums(tile), raw, m0, n0);
    } else {
      return kBlends ? fuse(sums, raw, m0, n0) : raw;
    }
  }();
  if constexpr (kStoreStaged) {
    if constexpr (!kKeepsRing) sync_some<kRead, kMultiplyingThreads>();  // all have read the ring
    Accumulator* const scratch = reinterpret_cast<Accumulator*>(shared + kMemory.epilogue_at);
    store_staged(sums, to, m0, n0, scratch + int(threadIdx.x / 32) * kScratchElements);
  } else if constexpr (kSwap) {
    SwappedStore<WarpSums, false, false>::store(sums, to, m0, n0);
  } else {
    store_direct(sums, to, m0, n0);
  }
}

}  // namespace tilesmith

extern "C" __global__ void __launch_bounds__(tilesmith::Trade::kThreads, tilesmith::kMinBlocks)
    gemm(const __grid_constant__ tilesmith::TensorGemmArgs args) {
  using namespace tilesmith;
  extern __shared__ __align__(1024) unsigned char shared[];

  if (threadIdx.x == kMultiplyingThreads) prefetch_maps(args);
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
      if constexpr (kSharingBlocks > 1) ring.wait_until_all_free(end);  // others still arrive at its barriers
    }
    return;
  }
  sync_some<kReady, kMultiplyingThreads + 32>();
  Trade::take<false>();
  const WarpPlace place{int(warp)};
  const int group = kTileGroups == 1 ? 0 : int(warp / 4);
  RingReader reader(ring);
  StepTile tile;
  for (unsigned item = cluster.first; !kPersistent || item < list.count(); item += cluster.step) {
    const ItemWork work = cluster.place(list.at(item));
    tile.accumulate(reader, args.gemm, work, place, group, kPersistent && item / cluster.step % 2 != 0);
    store_scaled(tile, args.gemm, work, place, shared);
    if (!kPersistent) break;
  }
}

extern "C" __global__ void __launch_bounds__(tilesmith::kPackThreads)
    pack(const __grid_constant__ tilesmith::GemmArgs args) {
  using namespace tilesmith;
  let_launch_after_come();
  wait_for_stream();
  pack_operands<true, true, 1, 1>(args);
}
