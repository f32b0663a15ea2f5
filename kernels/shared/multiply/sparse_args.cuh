// What kernels know of the metadata of a 2:4 sparse operand.
#pragma once

#include "kernels/shared/gemm_args.cuh"
#include "kernels/shared/multiply/sparse_layout.cuh"

namespace tilesmith {

struct SparseArgs {
  const void* metadata;  // [k_blocks][row_blocks][32] words (sparse_layout.cuh)
  int row_blocks;        // of the sparse operand's rows along M or N
  int k_blocks;
};

__device__ __forceinline__ SparseArgs sparse_of(const GemmArgs& args) {
  constexpr int kBlockOfK = metadata_block_k(int(sizeof(Operand)));
  return {args.metadata, ((kSparseB ? args.n : args.m) + kMetadataRows - 1) / kMetadataRows,
      (args.k + kBlockOfK - 1) / kBlockOfK};
}

}  // namespace tilesmith
