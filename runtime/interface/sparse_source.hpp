// The device kernels that make 2:4 sparse operands: their text and their argument.
#pragma once

#include <string>

#include "kernels/problem/type_pair.hpp"
#include "kernels/sparse/tiles.cuh"

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

ElementFormat element_format(Scalar element);

/// The host's side of kernels/sparse/tiles.cuh, on all cores.
void prune_tiles_on_host(Scalar element, const PruneTilesArgs& args);

/// Complete source text for NVRTC.
std::string sparse_source(Scalar element);

}  // namespace tilesmith::runtime
