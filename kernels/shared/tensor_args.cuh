// The argument of a kernel whose operands come by the tensor memory accelerator (TMA): GemmArgs behind tensor maps.
// Host and device read this same file; a map is the driver's CUtensorMap.
#pragma once

#include "kernels/shared/gemm_args.cuh"

namespace tilesmith {

struct alignas(128) TensorMap {
  unsigned char opaque[128];
};

struct TensorGemmArgs {
  TensorMap a;  // [a_rows, a_cols] in boxes, unset where k = 0
  TensorMap b;
  TensorMap d;  // [m, n], where the kernel stores by boxes, else unset
  GemmArgs gemm;
};

}  // namespace tilesmith
