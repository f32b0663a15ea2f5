// What the template of family `wmma` derives from its constants, derived from the config: names as in wmma.cu.
#pragma once

#include <cstdint>

#include "kernels/families/config.hpp"
#include "kernels/problem/problem.hpp"

namespace tilesmith::wmma {

inline constexpr int kWarpThreads = 32;

struct Geometry {
  int frag_k, warps, block_m, block_n;
  std::int64_t smem_bytes;
  int accumulator_registers, operand_registers;  // a thread

  Geometry(const Config& config, const TypePair& type, Transposes trans);
};

}  // namespace tilesmith::wmma
