// Family `mma` where A and B have scales of blocks of K: s8 and 8-bit floats. Copies, stages and fragments are those of
// mma.cu. A block has one tile, whose sums are scaled step by step (scaled_tile.cuh).
#include "kernels/mma/scaled_tile.cuh"
#include "kernels/mma/epilogue.cuh"
#include "kernels/shared/load/pack_operands.cuh"
#include "kernels/shared/work/overlap.cuh"

namespace tilesmith {

// As store() in epilogue.cuh, of what these kernels have.
template <typename Args>
__device__ __forceinline__ void store_scaled(WarpTile& tile, ScaledLoop& loop, const Args& args, const Work& work,
                                             const WarpPlace& warp, unsigned char* shared) {
  const Destination raw(args, work.slice / kClusterK);
  const int m0 = work.m0 + warp.m0, n0 = work.n0 + warp.n0;
  WarpSums sums(tile);
  const Destination to = apply_epilogue(tile, sums, raw, m0, n0);
  Accumulator* const scratch = reinterpret_cast<Accumulator*>(shared + kMemory.epilogue_at);
  if constexpr (kSummed || kStoreStaged) loop.drain();
  if constexpr (kSummed) {
    store_summed<kSliceK, kMultiplyingThreads>(sums, to, warp, work.m0, work.n0, scratch, [] { wait_for_all(); });
  } else if constexpr (kStoreStaged) {
    store_staged(sums, to, m0, n0, scratch + int(threadIdx.x / 32) * kScratchElements);
  } else {
    store_blended<kFewRegisters, true>(sums, to, m0, n0,
                                       [&](const Destination& over) { store_direct(sums, over, m0, n0); });
  }
}

}  // namespace tilesmith

extern "C" __global__ void __launch_bounds__(tilesmith::kThreads, tilesmith::kMinBlocks)
    gemm(const __grid_constant__ tilesmith::GemmArgs args) {
  using namespace tilesmith;
  extern __shared__ __align__(1024) unsigned char shared[];

  WorkList list(args);
  let_launch_after_come();
  wait_for_launch_before();
  list.read(fault_to_report(args));
  if (kIsGrouped && blockIdx.x >= list.count()) return;  // there are blocks for the most tiles that groups may have
  const Work work = list.at(blockIdx.x);
  const WarpPlace warp;
  ScaledLoop loop(args, list, work, warp, shared, reinterpret_cast<float*>(shared + kMemory.bytes));
  if constexpr (!kFewRegisters) prefetch_for_epilogue(args_of_entry(args, work.entry), work);
  WarpTile tile;
  tile.clear();
  loop.accumulate(tile, work);
  store_scaled(tile, loop, args_of_entry(args, work.entry), work, warp, shared);
}

extern "C" __global__ void __launch_bounds__(tilesmith::kPackThreads)
    pack(const __grid_constant__ tilesmith::GemmArgs args) {
  using namespace tilesmith;
  let_launch_after_come();
  wait_for_stream();
  pack_operands<kAKMajor, kBKMajor>(args);
}
