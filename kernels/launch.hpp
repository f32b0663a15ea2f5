// How a config solves a problem: the launches of its plan, in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/common/gemm_args.cuh"

namespace tilesmith {

struct Extent3 {
  unsigned x = 1, y = 1, z = 1;
};

/// Where a launch finds an operand: the caller's pointer, or an offset into the workspace.
struct OperandSource {
  bool from_workspace = false;
  std::size_t offset_bytes = 0;
  std::int64_t row_stride = 0;  // elements
};

/// One kernel launch. `entry` is an extern "C" kernel of the config's module that takes one GemmArgs by value.
struct Launch {
  std::string entry = "gemm";
  Extent3 grid;
  Extent3 block;
  Extent3 cluster;                 ///< 1×1×1: launched without a cluster
  std::size_t dynamic_smem_bytes = 0;
  int resident_blocks_per_sm = 0;  ///< above 0, a persistent grid: grid.x is cut to this many blocks for each live SM
  OperandSource a, b, c;
};

struct LaunchSequence {
  std::vector<Launch> launches;  ///< packing passes, the GEMM, a reduction
  std::size_t workspace_bytes = 0;
};

}  // namespace tilesmith
