// Family `gemv`: problems with M = 1 or N = 1 at the speed of memory. One operand, the matrix, is read once and in
// 16-byte chunks whatever its alignment; the other, the vector, is kept in shared memory.
#pragma once

#include "kernels/families/estimate.hpp"

namespace tilesmith {

std::unique_ptr<Family> make_gemv();

namespace gemv {

// What the template (task.cuh, panel.cuh, gemv.cu) derives from its constants, derived from the config: names as there.

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

std::vector<Parameter> parameters(const KernelTarget& target);
std::vector<Rule> rules(const KernelTarget& target);
std::vector<Config> initial_configs(const KernelTarget& target);

Estimate estimate(const Config& config, const KernelTarget& target, const Problem& problem);

}  // namespace gemv
}  // namespace tilesmith
