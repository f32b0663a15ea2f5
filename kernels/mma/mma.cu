// Family `mma`: C ← α·op(A)·op(B) + β·C with PTX mma.sync, ldmatrix and cp.async (or, on sm_90, the tensor memory accelerator).
//
//   global ──cp.async──▶ shared: kStages × (A tile, B tile)  ──ldmatrix──▶ registers ──mma.sync──▶ sums ──▶ C
//            (tile_copy)          swizzled (tile.cuh)        (fragments)   (instruction)    (epilogue)
//
//          ← kBlockN →
//        ┌──────┬──────┐  ↑          one warp's tile: kWarpM × kWarpN, in products of 16 × 8 (kSwap: 8 × 16)
//        │ warp │ warp │ kBlockM     ┌──┬──┬──┬──┐
//        │ 0    │ 1    │             ├──┼──┼──┼──┤
//        ├──────┼──────┤             └──┴──┴──┴──┘
//        │ 2    │ 3    │  ↓
//        └──────┴──────┘
//
// warps.cuh says who multiplies what, work.cuh which tiles a block computes; main_loop.cuh has the pipeline's picture,
// step_writer.cuh and tensor_copy.cuh fill its stages.
#include "kernels/mma/epilogue.cuh"
#include "kernels/tensor_core/pack_operands.cuh"
#include "kernels/tensor_core/passes.cuh"
#ifdef TILESMITH_EPILOGUE
#include "kernels/tensor_core/fuse.cuh"
#endif
#ifdef TILESMITH_GATED
#include "kernels/tensor_core/gate_sums.cuh"
#endif

extern "C" __global__ void __launch_bounds__(tilesmith::kThreads, tilesmith::kMinBlocks)
    gemm(const __grid_constant__ tilesmith::KernelArgs kernel_args) {
  using namespace tilesmith;
  extern __shared__ __align__(1024) unsigned char shared[];

  if (threadIdx.x == kMultiplyingThreads) prefetch_maps(kernel_args);  // the copying warp's first
  const GemmArgs& args = gemm_args(kernel_args);
#ifdef TILESMITH_GROUPED
  WorkList list(args);
#else
  const WorkList list(args);
#endif
  Operand* stages = reinterpret_cast<Operand*>(shared);
  const unsigned char* barriers = shared + kMemory.barriers_at;
  const Ring ring(shared_address(stages), shared_address(barriers));
  if constexpr (kTma) {
    if (threadIdx.x == kMultiplyingThreads) ring.init(kMultiplyingThreads / 32);
    __syncthreads();
  }
  let_launch_after_come();
  wait_for_launch_before();
#ifdef TILESMITH_GROUPED
  list.read(fault_to_report(args));
  if (blockIdx.x >= list.count()) return;
#endif
  const Tiles tiles(kernel_args, list);
  const unsigned warp_number = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);  // the compiler sees that it is uniform
  constexpr unsigned kCopyingWarp = kMultiplyingThreads / 32;
  if (warp_number == kCopyingWarp) start_first_copies(ring, tiles);
  if (warp_number >= kCopyingWarp) {
    trade_registers<true>();
    if (warp_number == kCopyingWarp) go_on_copying(ring, tiles);
    return;
  }
  trade_registers<false>();
  const auto fetch = [&](unsigned item) {
    if constexpr (kFewRegisters) return;  // it would take registers from them
    const Work work = list.at(item);
#ifdef TILESMITH_BATCH
    const GemmArgs args = args_of_entry(gemm_args(kernel_args), work.entry);
#endif
#ifdef TILESMITH_EPILOGUE
    const Destination to(args, work.slice / kClusterK);
    fetch_held<kMultiplyingThreads>(to.held(), work.m0, work.n0, kBlockM, kBlockN, int(threadIdx.x));
#ifdef TILESMITH_GATED
    fetch_pair_vectors<kMultiplyingThreads>(to, work.m0, work.n0, kBlockM, kBlockN, int(threadIdx.x));
#else
    fetch_vectors<kMultiplyingThreads>(to, work.m0, work.n0, kBlockM, kBlockN, int(threadIdx.x));
#endif
#else
    fetch_held<kMultiplyingThreads>(Destination(args, work.slice / kClusterK), work.m0, work.n0, kBlockM, kBlockN,
                                    int(threadIdx.x));
#endif
  };
  const WarpPlace warp;
  WarpTile tile;
  MainLoop loop(kernel_args, list, warp, stages, barriers);
  fetch(blockIdx.x);
  for (unsigned item = blockIdx.x; item < list.count(); item += gridDim.x) {
    const Work work = list.at(item);
    tile.clear();
    loop.accumulate(tile, work);
#ifdef TILESMITH_BATCH
    const GemmArgs args = args_of_entry(gemm_args(kernel_args), work.entry);
#endif
#ifdef TILESMITH_GATED
    const int m0 = work.m0 + warp.m0, n0 = (work.n0 + warp.n0) / (kGatesSums ? 2 : 1);
    WarpSums sums(tile);
    const Destination raw(args, work.slice / kClusterK);
    Destination to = raw;
    if constexpr (kGatesSums) to = gate(ProductSums(tile), raw, m0, n0);
#else
#ifdef TILESMITH_EPILOGUE
    const int m0 = work.m0 + warp.m0, n0 = work.n0 + warp.n0;
    WarpSums sums(tile);
    const Destination raw(args, work.slice / kClusterK);
    const Destination to = kSummed || kPartials ? raw : fuse(sums, raw, m0, n0);
#else
    const Destination to(args, work.slice / kClusterK);
    const int m0 = work.m0 + warp.m0, n0 = work.n0 + warp.n0;
    WarpSums sums(tile);
#endif
#endif
    if constexpr (kSummed) {
      loop.drain();
      store_summed<kSliceK, kMultiplyingThreads>(sums, to, warp, work.m0, work.n0,
                                                 reinterpret_cast<Accumulator*>(shared), [] { wait_for_all(); });
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
    if constexpr (!kPersistent) break;
    if (item + gridDim.x < list.count()) fetch(item + gridDim.x);
  }
}

extern "C" __global__ void __launch_bounds__(tilesmith::kPackThreads)
    pack(const __grid_constant__ tilesmith::GemmArgs args) {
  using namespace tilesmith;
  let_launch_after_come();
  wait_for_stream();
  pack_operands<kAKMajor, kBKMajor>(args);
}
