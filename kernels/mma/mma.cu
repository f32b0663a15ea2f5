// Family `mma`: C ← α·op(A)·op(B) + β·C with PTX mma.sync, ldmatrix and cp.async (or, on sm_90, the tensor memory accelerator).
//
//   global ──cp.async──▶ shared: kStages × (A tile, B tile)  ──ldmatrix──▶ registers ──mma.sync──▶ sums ──▶ C
//            (tile_copy)          swizzled (tile.cuh)        (fragments)   (instruction)    (epilogue, destination)
//
//          ← kBlockN →
//        ┌──────┬──────┐  ↑          one warp's tile: kWarpM × kWarpN, in products of 16 × 8
//        │ warp │ warp │ kBlockM     ┌──┬──┬──┬──┐
//        │ 0    │ 1    │             ├──┼──┼──┼──┤
//        ├──────┼──────┤             └──┴──┴──┴──┘
//        │ 2    │ 3    │  ↓
//        └──────┴──────┘
//
// main_loop.cuh has the pipeline's picture, work.cuh says which tiles a block computes.
#include "kernels/mma/pack.cuh"
#include "kernels/mma/epilogue.cuh"
#include "kernels/mma/reduce.cuh"

extern "C" __global__ void __launch_bounds__(tilesmith::kThreads, tilesmith::kMinBlocks)
gemm(const __grid_constant__ tilesmith::KernelArgs kernel_args) {
  using namespace tilesmith;
  extern __shared__ __align__(1024) unsigned char shared[];

  const GemmArgs& args = gemm_args(kernel_args);
  const WorkList list(args);
  const WarpPlace warp;
  WarpTile tile;
  MainLoop loop(kernel_args, list, warp, reinterpret_cast<Operand*>(shared), shared + kBarriersAt);
  for (unsigned item = blockIdx.x; item < list.count(); item += gridDim.x) {
    const Work work = list.at(item);
    tile.clear();
    loop.accumulate(tile, work);
    const Destination to(args, work.slice);
    const int m0 = work.m0 + warp.m0, n0 = work.n0 + warp.n0;
    if constexpr (kSummed) {
      loop.drain();
      store_summed(tile, to, warp, work.m0, work.n0, reinterpret_cast<Accumulator*>(shared));
    } else if constexpr (kStoreStaged) {
      if constexpr (!kPersistent) loop.drain();
      Accumulator* scratch = reinterpret_cast<Accumulator*>(shared + kScratchAt);
      store_staged(tile, to, m0, n0, scratch + int(threadIdx.x / 32) * kScratchElements);
    } else {
      store_direct(tile, to, m0, n0);
    }
    if constexpr (!kPersistent) break;
  }
}

extern "C" __global__ void __launch_bounds__(tilesmith::kPassThreads) scale_c(const __grid_constant__ tilesmith::GemmArgs args) {
  tilesmith::scale_c(args);
}

extern "C" __global__ void __launch_bounds__(tilesmith::kPassThreads) sum_slices(const __grid_constant__ tilesmith::GemmArgs args) {
  tilesmith::sum_slices(args);
}

extern "C" __global__ void __launch_bounds__(tilesmith::kPackThreads) pack(const __grid_constant__ tilesmith::GemmArgs args) {
  using namespace tilesmith;
  pack_operands<Operand, kTransA, kTransB, (kPack & 1) != 0, (kPack & 2) != 0>(args);
}
