// Family `mma`: PTX mma.sync, ldmatrix and cp.async; the picture is in mma.cu.
#pragma once

#include "kernels/families/estimate.hpp"
#include "kernels/families/passes.hpp"

namespace tilesmith {

std::unique_ptr<Family> make_mma();

namespace mma {

// What the template derives from its constants, derived from the config: names as there.

using namespace tensor_core;

struct Geometry {
  int block_m, block_n, block_k;  // elements
  int warps_m, warps_n;
  int multiplying_threads;    ///< of a block
  int threads;                ///< those, and the copying warps
  bool trades_registers;      ///< the copying warps give theirs to the others (sm_90a)
  int slab_k;                 ///< elements of K that a fragment load fetches
  int slabs;                  ///< of a warp in a K-step
  int accumulator_registers;  ///< a thread
  int fragment_registers;     ///< a thread, all buffers
  int split_registers;  ///< a thread, of f32x3: what operands are split to, and a slab's products of 16 rows; with
                        ///< scales of blocks: a step's products, and scales
  int min_blocks;       ///< resident on an SM
  int metadata_bytes;   ///< of a stage, of a sparse operand
  int stage_bytes;
  int smem_bytes;  ///< dynamic shared memory of a block

  Geometry(const Config& config, const KernelSignature& signature);

  /// Tiles of all entries of a batch. For groups, whose rows the host does not know, the most that there can be.
  std::int64_t tiles(const Problem& problem) const;

  /// How many of the SM's registers a multiplying thread can have.
  int available_registers(int registers_per_sm) const;
};

/// Whether rows may start anywhere: they are copied in aligned chunks of 16 bytes, and keep their skew (skewed.cuh).
bool skewed(const Config& config);
int chunk_bytes(const Config& config);  ///< what a thread copies at a time

/// Whether the operand's rows run along K, as it lies or since it is packed so.
bool a_k_major(const Config& config, Transposes trans);
bool b_k_major(const Config& config, Transposes trans);

/// Elements of K that one instruction's fragments hold: 32 bytes, or 8 or 16 f64.
int slab_k(const TypePair& type, int inst_k);

bool supports(const KernelTarget& target);
std::vector<Parameter> parameters(const KernelTarget& target);
std::vector<Rule> rules(const KernelTarget& target);
/// Rules for kernels with a 2:4 sparse operand; empty for other kernels.
std::vector<Rule> sparse_rules(const KernelTarget& target);

Estimate estimate(const Config& config, const KernelTarget& target, const Problem& problem);

std::vector<Config> initial_configs(const KernelTarget& target, const Problem& problem);

}  // namespace mma
}  // namespace tilesmith
