// Family `wgmma`: Hopper's tensor cores through PTX wgmma, fed by the tensor memory accelerator (sm_90a).
#pragma once

#include "kernels/families/estimate.hpp"
#include "kernels/families/passes.hpp"
#include "kernels/wgmma/even_tiles.cuh"

namespace tilesmith {

std::unique_ptr<Family> make_wgmma();

namespace wgmma {

// What the template derives from its constants, derived from the config: names as there.

using namespace tensor_core;

/// Values of the parameter `schedule`, as in shape.cuh.
enum Schedule { one_tile = 0, cooperative = 1, ping_pong = 2 };

/// Elements of a row of 128 bytes.
int panel_elements(const TypePair& type);

/// Whether the kernel sees A (B) K-major: as it is stored, or since it is packed so.
bool a_k_major(const Config& config, Transposes trans);
bool b_k_major(const Config& config, Transposes trans);

/// Whether the left operand is one of 8 or 32 bits that lies MN-major: its words are loaded to registers, its rows in
/// any order.
bool left_from_registers(const Config& config, const TypePair& type, Transposes trans);

/// How A and B are stored. A Geometry depends on it and on the types.
struct Stored : Transposes {
  Sparsity sparsity = Sparsity::dense;
  Weights weights;
  Scaling scale_m = Scaling::none, scale_n = Scaling::none;  ///< of blocks of K (scaled_tile.cuh)
  bool gated = false;

  Stored(Transposes of) : Transposes(of) {}
  Stored(const KernelSignature& of)
      : Transposes(of.trans),
        sparsity(of.sparsity),
        weights(of.weights),
        scale_m(of.epilogue.scale_m),
        scale_n(of.epilogue.scale_n),
        gated(of.epilogue.is_gated()) {}
  bool by_block() const { return is_by_block(scale_m); }
};

/// Whether sums are added up from parts that are scaled: by scales of blocks, or by those of weights beside an A of 8
/// bits (scaled.cu).
bool scales_steps(const TypePair& type, const Stored& trans);

/// Whether the instruction takes its left operand from registers: such a one, of f32x3, which is split there, or
/// weights.
bool takes_left_words(const Config& config, const TypePair& type, const Stored& trans);

/// Columns of a packed row of the right operand of f32x3, big ones and small ones.
std::int64_t split_columns(std::int64_t k);

/// Whether the tensor memory accelerator can store C: what it leaves out beyond a row's end is a multiple of 16 bytes
/// away from the row's start.
bool takes_boxes(const Problem& problem);

struct Geometry {
  int block_m, block_n, block_k;  // elements
  int tile_groups;                ///< warpgroups that share a tile
  bool swap;                      ///< the left operand's extent runs along N, the right one's along M
  int left_extent, right_extent;
  int left_tiles;      ///< of 64 rows, of a group
  int instructions;    ///< side by side, for all columns of such a tile (columns.cuh)
  int sum_registers;   ///< a thread
  int held_registers;  ///< those, and of f32x3 and of scaled steps the part that is added to them
  int left_registers;  ///< a thread, of a left operand that is taken from there, and of scales of blocks
  bool trades_registers;
  int threads;
  int min_blocks;
  int cluster_m, cluster_n;
  int copied_m,
      copied_n;  ///< rows of op(A), columns of op(B) that are copied for a block: MN-major operands come by whole
                 ///< panels
  int copies_m, copies_n;  ///< 2: big and small ones of f32x3
  int metadata_bytes;      ///< of a stage, of a sparse left operand
  int stage_bytes;
  int smem_bytes;  ///< dynamic shared memory of a block

  Geometry(const Config& config, const TypePair& type, Stored trans);

  int sharing_blocks() const { return cluster_m * cluster_n; }
  /// Work items of a slice of K: a cluster's tiles each, of all entries of a batch; of groups the most that there may
  /// be.
  std::int64_t items(const Problem& problem) const;
  /// The same where columns (swapped: rows) are dealt evenly among as many clusters as run at a time.
  EvenTiles even_tiles(const Problem& problem, int group_m, unsigned clusters) const;
  /// How many of the SM's registers a multiplying thread can have.
  int available_registers(int registers_per_sm) const;
};

int must_pack(const TypePair& type, Transposes trans, bool swap);

/// Whether a tile is for a C of no more columns than it has; few rows are the same to swapped operands.
bool has_few_columns(const Config& config);

bool supports(const KernelTarget& target);
std::vector<Parameter> parameters(const KernelTarget& target);
std::vector<Rule> rules(const KernelTarget& target);
/// Rules for kernels with a 2:4 sparse operand; empty for other kernels.
std::vector<Rule> sparse_rules(const KernelTarget& target);

/// Rules for what a signature has besides types and transposes: gates, weights, groups, scales of blocks.
std::vector<Rule> option_rules(const KernelTarget& target);

/// The instruction as device code, since its operands are too many, and too different from size to size, to be written
/// down for all: `multiply` as group_tile.cuh wants it.
std::string instruction_source(const Config& config, const KernelTarget& target);

Estimate estimate(const Config& config, const KernelTarget& target, const Problem& problem);

std::vector<Config> initial_configs(const KernelTarget& target, const Problem& problem);

}  // namespace wgmma
}  // namespace tilesmith
