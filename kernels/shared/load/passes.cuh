// The kernels of a plan beside the GEMM where K is split: compiled with it, launched where the config needs them
// (passes.cpp). Groups never need them: their slices are added within a cluster.
#pragma once

#include "kernels/shared/work/overlap.cuh"
#include "kernels/shared/store/reduce.cuh"

namespace tilesmith {

// pass(args) for the entry that this block belongs to.
template <typename Pass>
__device__ __forceinline__ void pass_over_entry(const GemmArgs& args, Pass pass) {
  if constexpr (!kIsBatched) {
    pass(args);
  } else if constexpr (!kIsGrouped) {
    if (!is_beyond_batch(args)) pass(args_of_entry(args, int(entry_of_grid())));
  }
}

}  // namespace tilesmith

extern "C" __global__ void __launch_bounds__(tilesmith::kPassThreads)
    scale_c(const __grid_constant__ tilesmith::GemmArgs args) {
  tilesmith::let_launch_after_come();
  tilesmith::wait_for_stream();
  tilesmith::pass_over_entry(args, [](const tilesmith::GemmArgs& its) { tilesmith::scale_c(its); });
}

extern "C" __global__ void __launch_bounds__(tilesmith::kPassThreads)
    sum_slices(const __grid_constant__ tilesmith::GemmArgs args) {
  tilesmith::let_stream_come();
  tilesmith::wait_for_launch_before();
  tilesmith::pass_over_entry(args, [](const tilesmith::GemmArgs& its) { tilesmith::sum_slices(its); });
}
