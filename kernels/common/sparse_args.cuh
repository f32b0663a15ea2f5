// What kernels find behind ExtendedArgs where an operand is 2:4 sparse. Host and device read this same file, so it names only built-in types.
#pragma once

namespace tilesmith {

struct SparseArgs {
  const void* metadata;  // [k_blocks][row_blocks][32] words (kernels/common/sparse_layout.cuh)
  int row_blocks;        // of the sparse operand's rows along M or N
  int k_blocks;
};

}  // namespace tilesmith
