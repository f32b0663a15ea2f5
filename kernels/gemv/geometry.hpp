// What the template of family `gemv` (task.cuh, panel.cuh, gemv.cu) derives from its constants, derived from the
// config: names as there.
#pragma once

#include <cstdint>

#include "kernels/families/config.hpp"
#include "kernels/problem/problem.hpp"

namespace tilesmith::gemv {

inline constexpr int kWarpThreads = 32;
inline constexpr int kChunkBytes = 16;

/// Whether rows of the matrix, as stored, lie along K.
bool is_along(const Config& config, Transposes trans);

/// Whether slices of K meet in the workspace, added by a second launch.
bool has_second_launch(const Config& config);

struct Geometry {
  bool along;   ///< rows of the matrix, as stored, lie along K
  int vector;   ///< elements of a chunk of 16 bytes
  int outputs;  ///< of a block
  int parts;    ///< sums of one output that a block's warps hold
  int panel_bytes;
  int sum_bytes;   ///< of one sum
  int smem_bytes;  ///< dynamic shared memory of a block

  Geometry(const Config& config, const TypePair& type, Transposes trans);
};

}  // namespace tilesmith::gemv
