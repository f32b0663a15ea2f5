// The kernels of a plan beside the GEMM where K is split: compiled with it, launched where the config needs them
// (passes.cpp). The packing kernel is the family's own, since the families want packed operands in different ways.
#pragma once

#include "kernels/common/overlap.cuh"
#include "kernels/tensor_core/pack.cuh"
#include "kernels/tensor_core/reduce.cuh"

// Of groups slices are added within a cluster.
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
