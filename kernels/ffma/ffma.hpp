// Family `ffma`: f32 on CUDA cores, every product an FMA: register tiles, cp.async pipelines, sliced and split K.
#pragma once

#include "kernels/families/estimate.hpp"

namespace tilesmith {

std::unique_ptr<Family> make_ffma();

namespace ffma {

// What the template derives from its constants, derived from the config: names as there.

/// Whether an operand's rows run along K: it is then copied word by word.
bool a_along_k(Transposes trans);
bool b_along_k(Transposes trans);

constexpr int kElementBytes = 4, kWarpThreads = 32;

struct Geometry {
  int block_m, block_n, block_k;  // elements
  int warps_of_slice;
  int threads;
  int step_k;          ///< of a K-step, that a warp multiplies
  int registers;       ///< of a thread: sums and two buffers of operands
  int copies;          ///< that a thread starts for a step
  int copy_groups;     ///< in which it starts them
  bool splits_copies;  ///< whether the block's threads split into whole rows of them
  int stage_bytes;
  int smem_bytes;  ///< dynamic shared memory of a block

  /// Precondition: the warps' tiles are no larger than the block's.
  Geometry(const Config& config, Transposes trans);

  /// Tiles of all entries of the batch.
  std::int64_t tiles(const Problem& problem) const;
};

/// Registers of a thread beside sums and operands, where so many blocks share an SM's.
int registers_left(const Geometry& geometry, int min_blocks, const DeviceLimits& limits);

constexpr int kFewestOtherRegisters = 28;  ///< addresses, counters: with fewer left a kernel spills
constexpr int kEnoughOtherRegisters = 40;  ///< with fewer left many did

bool supports(const KernelTarget& target);
std::vector<Parameter> parameters(const KernelTarget& target);
std::vector<Rule> rules(const KernelTarget& target);

Estimate estimate(const Config& config, const KernelTarget& target, const Problem& problem);

std::vector<Config> initial_configs(const KernelTarget& target, const Problem& problem);

}  // namespace ffma
}  // namespace tilesmith
