// The kernels of a plan beside the GEMM where K is split, launched where the config needs them
// (kernels/families/passes.cpp). Sources of groups do not include this file: the slices of a group are added within a
// cluster.
#pragma once

#include "kernels/shared/work/overlap.cuh"
#include "kernels/shared/store/reduce.cuh"

extern "C" __global__ void __launch_bounds__(tilesmith::kPassThreads)
    scale_c(const __grid_constant__ tilesmith::GemmArgs args) {
  tilesmith::let_launch_after_come();
  tilesmith::wait_for_stream();
  if (!tilesmith::is_beyond_batch(args)) tilesmith::scale_c(tilesmith::args_of_entry(args, tilesmith::entry_of_grid()));
}

extern "C" __global__ void __launch_bounds__(tilesmith::kPassThreads)
    sum_slices(const __grid_constant__ tilesmith::GemmArgs args) {
  tilesmith::let_stream_come();
  tilesmith::wait_for_launch_before();
  if (!tilesmith::is_beyond_batch(args))
    tilesmith::sum_slices(tilesmith::args_of_entry(args, tilesmith::entry_of_grid()));
}
