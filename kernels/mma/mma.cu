// Family `mma`: C ← α·op(A)·op(B) + β·C with PTX mma.sync, ldmatrix and cp.async (or, on sm_90, the tensor memory
// accelerator).
//
//   global ──cp.async──▶ shared: kStages × (A tile, B tile)  ──ldmatrix──▶ registers ──mma.sync──▶ sums ──▶ C
//            (step_copy)          swizzled (tile.cuh)        (fragments)   (instruction)    (epilogue)
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
#include "kernels/shared/load/pack_operands.cuh"
#include "kernels/shared/work/overlap.cuh"

extern "C" __global__ void __launch_bounds__(tilesmith::kThreads, tilesmith::kMinBlocks)
    gemm(const __grid_constant__ tilesmith::KernelArgs kernel_args) {
  using namespace tilesmith;
  extern __shared__ __align__(1024) unsigned char shared[];

  if (threadIdx.x == kMultiplyingThreads) prefetch_maps(kernel_args);  // the copying warp's first
  const GemmArgs& args = gemm_args(kernel_args);
  WorkList list(args);
  Operand* stages = reinterpret_cast<Operand*>(shared);
  const unsigned char* barriers = shared + kMemory.barriers_at;
  const Ring ring(shared_address(stages), shared_address(barriers));
  if constexpr (kTma) {
    if (threadIdx.x == kMultiplyingThreads) ring.init(kMultiplyingThreads / 32);
    __syncthreads();
  }
  let_launch_after_come();
  wait_for_launch_before();
  list.read(fault_to_report(args));
  if (kIsGrouped && blockIdx.x >= list.count()) return;  // there are blocks for the most tiles that groups may have
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
    prefetch_for_epilogue(args_of_entry(args, work.entry), work);
  };
  const WarpPlace warp;
  WarpTile tile;
  MainLoop loop(kernel_args, list, warp, stages, barriers);
  fetch(blockIdx.x);
  for (unsigned item = blockIdx.x; item < list.count(); item += gridDim.x) {
    const Work work = list.at(item);
    tile.clear();
    loop.accumulate(tile, work);
    store(tile, loop, args_of_entry(args, work.entry), work, warp, shared);
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
