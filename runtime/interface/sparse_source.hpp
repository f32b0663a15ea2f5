// The device kernels that make 2:4 sparse operands: their text and their argument.
#pragma once

#include <string>

#include "kernels/type_pair.hpp"

namespace tilesmith::runtime {

/// As kernels/sparse/sparse.cu has it.
struct SparseMatrixArgs {
  const void* dense = nullptr;
  void* pruned = nullptr;
  void* stored = nullptr;
  void* metadata = nullptr;
  void* found = nullptr;
  long long rows = 0, k = 0, ld_dense = 0, ld_pruned = 0, ld_stored = 0;
};

/// Complete source text for NVRTC.
std::string sparse_source(Scalar element);

}  // namespace tilesmith::runtime
