// Family `ffma`: C ← α·op(A)·op(B) + β·C in f32 on CUDA cores, every product an FMA.
//
//   global ──cp.async──▶ shared: kStages × (a[k][m], b[k][n])  ──16-byte loads──▶ two fragments ──FMA──▶ sums ──▶ C
//            copy.cuh             tile.cuh                                        main_loop.cuh          store.cuh
//
//          ← kBlockN →
//        ┌──────┬──────┐  ↑          one warp's tile: kWarpM × kWarpN (tile.cuh)
//        │ warp │ warp │ kBlockM
//        │ 0    │ 1    │
//        ├──────┼──────┤             work.cuh says which tile and which slice of K a block computes
//        │ 2    │ 3    │  ↓
//        └──────┴──────┘
#include "kernels/ffma/store.cuh"

extern "C" __global__ void __launch_bounds__(tilesmith::kThreads, tilesmith::kMinBlocks)
    gemm(const __grid_constant__ tilesmith::GemmArgs all) {
  using namespace tilesmith;
  extern __shared__ __align__(16) unsigned char shared[];

  let_launch_after_come();
  wait_for_launch_before();
  WorkListOf<kBlockM, kBlockN> list(all);
  list.read(fault_to_report(all));
  if (kIsGrouped && blockIdx.x >= list.count()) return;
  const Work work = list.at(blockIdx.x);
  const auto& args = args_of_entry(all, work.entry);
  const ThreadPlace place;
  Sums sums;
  MainLoop loop(args, work, place, shared_address(shared));
  loop.accumulate(sums);
  add_slices(sums, place, reinterpret_cast<Accumulator*>(shared));
  if (place.slice > 0) return;
  store(sums, Destination(args, work.slice), work.m0 + place.m0, work.n0 + place.n0);
}
