// What the template of family `wgmma` derives from its constants, derived from the config: names as in the template.
#pragma once

#include <cstdint>

#include "kernels/config.hpp"
#include "kernels/problem.hpp"
#include "kernels/tensor_core/passes.hpp"

namespace tilesmith::wgmma {

using namespace tensor_core;

/// Values of the parameter `schedule`, as in shape.cuh.
enum Schedule { one_tile = 0, cooperative = 1, ping_pong = 2 };

/// Elements of a row of 128 bytes.
int panel_elements(const TypePair& type);

/// Whether the kernel sees A (B) K-major: as it is stored, or since it is packed so.
bool a_k_major(const Config& config, Transposes trans);
bool b_k_major(const Config& config, Transposes trans);

struct Geometry {
  int block_m, block_n, block_k;  // elements
  int tile_groups;                ///< warpgroups that share a tile
  int left_extent, right_extent;
  int left_tiles;     ///< of 64 rows, of a group
  int sum_registers;  ///< a thread
  bool trades_registers;
  int threads;
  int min_blocks;
  int cluster_m, cluster_n;
  int stage_bytes;
  int smem_bytes;  ///< dynamic shared memory of a block

  Geometry(const Config& config, const TypePair& type, Transposes trans);

  int sharing_blocks() const { return cluster_m * cluster_n; }
  /// Work items of a slice of K: a cluster's tiles each.
  std::int64_t items(const Problem& problem) const;
  /// Of a thread that multiplies, out of an SM's.
  int available_registers(int registers_per_sm) const;
};

}  // namespace tilesmith::wgmma
