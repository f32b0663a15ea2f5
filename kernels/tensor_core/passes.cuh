// The kernels of a plan beside the GEMM where K is split: compiled with it, launched where the config needs them
// (passes.cpp). The packing kernel is the family's own, since the families want packed operands in different ways.
#pragma once

#include "kernels/common/overlap.cuh"
#include "kernels/tensor_core/pack.cuh"
#include "kernels/tensor_core/reduce.cuh"

extern "C" __global__ void __launch_bounds__(tilesmith::kPassThreads)
    scale_c(const __grid_constant__ tilesmith::GemmArgs args) {
  tilesmith::let_launch_after_come();
  tilesmith::wait_for_stream();
  tilesmith::scale_c(args);
}

extern "C" __global__ void __launch_bounds__(tilesmith::kPassThreads)
    sum_slices(const __grid_constant__ tilesmith::GemmArgs args) {
  tilesmith::let_stream_come();
  tilesmith::wait_for_launch_before();
  tilesmith::sum_slices(args);
}
