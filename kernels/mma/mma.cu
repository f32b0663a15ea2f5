// Family `mma`: C ← α·op(A)·op(B) + β·C with PTX mma.sync, ldmatrix and cp.async (or, on sm_90, the tensor memory accelerator).
//
//   global ──cp.async──▶ shared: kStages × (A tile, B tile)  ──ldmatrix──▶ registers ──mma.sync──▶ sums ──▶ C
//            (tile_copy)          swizzled (tile.cuh)        (fragments)   (instruction)    (epilogue)
//
//          ← kBlockN →
//        ┌──────┬──────┐  ↑          one warp's tile: kWarpM × kWarpN, in products of 16 × 8
//        │ warp │ warp │ kBlockM     ┌──┬──┬──┬──┐
//        │ 0    │ 1    │             ├──┼──┼──┼──┤
//        ├──────┼──────┤             └──┴──┴──┴──┘
//        │ 2    │ 3    │  ↓
//        └──────┴──────┘
//
// warps.cuh says who multiplies what, work.cuh which tiles a block computes; main_loop.cuh has the pipeline's picture,
// step_writer.cuh and tensor_copy.cuh fill its stages.
#include "kernels/mma/epilogue.cuh"
#include "kernels/tensor_core/passes.cuh"

extern "C" __global__ void __launch_bounds__(tilesmith::kThreads, tilesmith::kMinBlocks)
    gemm(const __grid_constant__ tilesmith::KernelArgs kernel_args) {
  using namespace tilesmith;
  extern __shared__ __align__(1024) unsigned char shared[];

  const GemmArgs& args = gemm_args(kernel_args);
  const WorkList list(args);
  Operand* stages = reinterpret_cast<Operand*>(shared);
  const unsigned char* barriers = shared + kMemory.barriers_at;
  const Ring ring(shared_address(stages), shared_address(barriers));
  if constexpr (kTma) {
    if (threadIdx.x == kMultiplyingThreads) ring.init(kMultiplyingThreads / 32);
    __syncthreads();
  }
  let_launch_after_come();
  wait_for_launch_before();
  if (threadIdx.x >= kMultiplyingThreads) {  // the copying warp
    trade_registers<true>();
    if (threadIdx.x == kMultiplyingThreads) copy_all_steps(ring, kernel_args, list);
    return;
  }
  trade_registers<false>();
  const WarpPlace warp;
  WarpTile tile;
  MainLoop loop(kernel_args, list, warp, stages, barriers);
  for (unsigned item = blockIdx.x; item < list.count(); item += gridDim.x) {
    const Work work = list.at(item);
    tile.clear();
    loop.accumulate(tile, work);
    const Destination to(args, work.slice / kClusterK);
    const int m0 = work.m0 + warp.m0, n0 = work.n0 + warp.n0;
    const WarpSums sums(tile);
    if constexpr (kSummed) {
      loop.drain();
      store_summed<kSliceK, kMultiplyingThreads>(sums, to, warp, work.m0, work.n0,
                                                 reinterpret_cast<Accumulator*>(shared), [] { wait_for_all(); });
    } else if constexpr (kStoreStaged) {
      if constexpr (!kPersistent) loop.drain();
      Accumulator* scratch = reinterpret_cast<Accumulator*>(shared + kMemory.epilogue_at);
      store_staged(sums, to, m0, n0, scratch + int(threadIdx.x / 32) * kScratchElements);
    } else {
      store_direct(sums, to, m0, n0);
    }
    if constexpr (!kPersistent) break;
  }
}

extern "C" __global__ void __launch_bounds__(tilesmith::kPackThreads)
    pack(const __grid_constant__ tilesmith::GemmArgs args) {
  using namespace tilesmith;
  let_launch_after_come();
  using Copy = AlignedCopy<Operand>;
  pack_operands<Copy, Copy>(args);
}
