// The space of the family `gemv`, and what its template derives from a config.
#pragma once

#include <cstdint>

#include "kernels/family.hpp"

namespace tilesmith::gemv {

/// What task.cuh, panel.cuh and gemv.cu derive from their constants: names as there.
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
std::vector<Config> seeds(const KernelTarget& target);

}  // namespace tilesmith::gemv
