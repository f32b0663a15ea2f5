// The entries of a batch (kIsBatched): strided, or found by pointers (kByPointers). A kernel gets an entry's arguments
// from matrices_of_entry(): those of the batch, with pointers moved on.
#pragma once

#include "kernels/shared/gemm_args.cuh"
#include "kernels/shared/either.cuh"

namespace tilesmith {

// A matrix of an entry. By pointers, copies in the workspace have a stride; an array says where the caller's matrices
// lie (stride below 0), and is read behind overlap.cuh's wait.
template <typename Element>
__device__ __forceinline__ const Element* matrix_of_entry(
    const void* matrices, const long long& stride, long long entry) {
  if constexpr (kByPointers) {
    if (stride < 0) return static_cast<const Element* const*>(matrices)[entry];
  }
  return static_cast<const Element*>(matrices) + entry * stride;
}

// Stands for an entry where there is no batch: its arguments are the kernel's own.
struct NoEntry {
  NoEntry() = default;
  __device__ __forceinline__ explicit NoEntry(unsigned) {}
  __device__ __forceinline__ operator int() const { return 0; }
};
__device__ __forceinline__ const GemmArgs& matrices_of_entry(const GemmArgs& args, NoEntry) { return args; }

// Operands, C and D of an entry. With a stride of 0 all entries read one matrix.
__device__ __forceinline__ GemmArgs matrices_of_entry(const GemmArgs& batch, long long entry) {
  GemmArgs its = batch;
  its.a = matrix_of_entry<Operand>(batch.a, batch.stride_a, entry);
  its.b = matrix_of_entry<Operand>(batch.b, batch.stride_b, entry);
  its.d = const_cast<Output*>(matrix_of_entry<Output>(batch.d, batch.stride_c, entry));
  its.c = matrix_of_entry<Output>(batch.c, batch.stride_c, entry);
  return its;
}

// The entry of this block, if the grid has a slice of y and z for each entry (the host fills y first,
// kernels/families/launch.hpp). The last slices may be beyond the batch.
using GridEntry = Either<kIsBatched, unsigned, NoEntry>;
__device__ __forceinline__ GridEntry entry_of_grid() { return GridEntry(blockIdx.z * gridDim.y + blockIdx.y); }
__device__ __forceinline__ bool is_beyond_batch(const GemmArgs& batch) {
  return kIsBatched && unsigned(entry_of_grid()) >= unsigned(batch.batch);
}

}  // namespace tilesmith
