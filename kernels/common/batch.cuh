// The entries of a batch (macro TILESMITH_BATCH, kernels/render.hpp): strided, or found by pointers (TILESMITH_POINTERS). Kernels that know
// nothing of batches are given an entry's arguments: the batch's, with pointers moved on.
#pragma once

#include "kernels/common/gemm_args.cuh"

namespace tilesmith {

#ifdef TILESMITH_POINTERS
// Copies in the workspace have a stride; where the caller's matrices lie arrays say, which are read behind overlap.cuh's wait.
template <typename Element>
__device__ __forceinline__ const Element* matrix_of_entry(const void* matrices, long long stride, long long entry) {
  if (stride < 0) return static_cast<const Element* const*>(matrices)[entry];
  return static_cast<const Element*>(matrices) + entry * stride;
}
#endif

// Operands, C and D of an entry. A stride of 0 stands still: all entries read one matrix.
__device__ __forceinline__ GemmArgs matrices_of_entry(const GemmArgs& batch, long long entry) {
  GemmArgs its = batch;
#ifdef TILESMITH_POINTERS
  its.a = matrix_of_entry<Operand>(batch.a, batch.more.stride_a, entry);
  its.b = matrix_of_entry<Operand>(batch.b, batch.more.stride_b, entry);
  its.c = const_cast<Output*>(matrix_of_entry<Output>(batch.c, batch.more.stride_c, entry));
  its.more.c = matrix_of_entry<Output>(batch.more.c, batch.more.stride_c, entry);
#else
  its.a = static_cast<const Operand*>(batch.a) + entry * batch.more.stride_a;
  its.b = static_cast<const Operand*>(batch.b) + entry * batch.more.stride_b;
  its.c = static_cast<Output*>(batch.c) + entry * batch.more.stride_c;
  its.more.c = static_cast<const Output*>(batch.more.c) + entry * batch.more.stride_c;
#endif
  return its;
}

// Of launches whose grids have a slice of y and z for each entry (the host fills y first, kernels/batch_grid.hpp); the last slices may
// lie beyond the batch.
__device__ __forceinline__ unsigned entry_of_grid() { return blockIdx.z * gridDim.y + blockIdx.y; }
__device__ __forceinline__ bool is_beyond_batch(const GemmArgs& batch) { return entry_of_grid() >= unsigned(batch.more.batch); }

}  // namespace tilesmith
