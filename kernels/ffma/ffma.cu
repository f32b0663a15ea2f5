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
#include "kernels/tensor_core/reduce.cuh"

extern "C" __global__ void __launch_bounds__(tilesmith::kThreads, tilesmith::kMinBlocks)
#ifndef TILESMITH_BATCH
    gemm(const __grid_constant__ tilesmith::GemmArgs args) {
#else
    gemm(const __grid_constant__ tilesmith::GemmArgs batch) {
#endif
  using namespace tilesmith;
  extern __shared__ __align__(16) unsigned char shared[];

  let_launch_after_come();
  wait_for_launch_before();
#ifndef TILESMITH_BATCH
  const Work work = WorkListOf<kBlockM, kBlockN>(args).at(blockIdx.x);
#else
  WorkListOf<kBlockM, kBlockN> list(batch);
#ifdef TILESMITH_GROUPED
  list.read(fault_to_report(batch));
  if (blockIdx.x >= list.count()) return;
#endif
  const Work work = list.at(blockIdx.x);
  const GemmArgs args = args_of_entry(batch, work.entry);
#endif
  const ThreadPlace place;
  Sums sums;
  MainLoop loop(args, work, place, shared_address(shared));
  loop.accumulate(sums);
  add_slices(sums, place, reinterpret_cast<Accumulator*>(shared));
  if (place.slice > 0) return;
  store(sums, Destination(args, work.slice), work.m0 + place.m0, work.n0 + place.n0);
}

// Of groups there are no slices of K to be added.
#ifndef TILESMITH_GROUPED
extern "C" __global__ void __launch_bounds__(tilesmith::kPassThreads)
    scale_c(const __grid_constant__ tilesmith::GemmArgs args) {
  tilesmith::let_launch_after_come();
  tilesmith::wait_for_stream();
#ifndef TILESMITH_BATCH
  tilesmith::scale_c(args);
#else
  if (tilesmith::is_beyond_batch(args)) return;
  tilesmith::scale_c(tilesmith::args_of_entry(args, int(tilesmith::entry_of_grid())));
#endif
}

extern "C" __global__ void __launch_bounds__(tilesmith::kPassThreads)
    sum_slices(const __grid_constant__ tilesmith::GemmArgs args) {
  tilesmith::let_stream_come();
  tilesmith::wait_for_launch_before();
#ifndef TILESMITH_BATCH
  tilesmith::sum_slices(args);
#else
  if (tilesmith::is_beyond_batch(args)) return;
  tilesmith::sum_slices(tilesmith::args_of_entry(args, int(tilesmith::entry_of_grid())));
#endif
}
#endif
