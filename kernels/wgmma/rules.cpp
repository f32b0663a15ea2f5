#include "kernels/wgmma/wgmma.hpp"

#include <algorithm>

#include "kernels/families/shared_rules.hpp"
#include "kernels/problem/sparsity.hpp"
#include "kernels/problem/sub_byte.hpp"
#include "kernels/problem/weights.hpp"
#include "kernels/shared/store/block_memory.cuh"
#include "kernels/wgmma/columns.cuh"

namespace tilesmith::wgmma {
namespace {

constexpr int kUsualPanels = 2;    // of K in a stage
constexpr int kMostPromoted = 64;  // of K: of 128, errors of TN 1024³ are beyond those of cuBLAS (docs/notes/f32x3.md)
constexpr int kBoxRowsMost = 256;  // of a copy by the tensor memory accelerator

const Names kTile{"block_m", "block_n", "warpgroups", "schedule", "swap"};

}  // namespace

bool has_few_columns(const Config& config) { return config.at("swap") == 0 && config.at("block_n") < 32; }

int must_pack(const TypePair& type, Transposes trans, bool swap) {
  const int mn_major = (trans.a ? int(pack_a) : 0) | (trans.b ? 0 : int(pack_b));
  if (type.a == Scalar::f32x3) return swap ? pack_a : pack_b;
  if (is_sub_byte(type.a)) return type.a == Scalar::b1 ? mn_major : pack_a | pack_b;
  return size_bytes(type.a) == 2 ? 0 : mn_major & (swap ? int(pack_a) : int(pack_b));
}

bool supports(const KernelTarget& target) {
  const Scalar operand = target.type.a;
  if (has_weights(target)) {
    const bool bytes = size_bytes(operand) == 1;
    return !is_k_quant(target.weights.type) && is_plain_but_epilogue(without_weights(target)) &&
           !target.epilogue.is_gated() &&
           (bytes ? takes_weights(target.type, target.weights) : !target.weights.f32_scales) &&
           target.scalars == Scalars::host && target.limits.features.wgmma;
  }
  return is_plain_but_epilogue_and_batch(without_block_scales(without_sparsity(target))) &&
         target.limits.features.wgmma && packs_for(target) &&
         (is_fp8(operand) || !target.epilogue.has_block_scales()) &&
         (is_fp8(operand) || (has_instruction(operand) && operand != Scalar::f64));
}

std::vector<Parameter> parameters(const KernelTarget& target) {
  const int panel = panel_elements(target.type);
  const bool is_split = target.type.a == Scalar::f32x3;
  std::vector<Parameter> all{
      {"block_m", {8, 16, 32, 64, 80, 96, 112, 128, 144, 160, 176, 192, 256, 320}, "rows of C a block computes"},
      {"block_n", {8, 16, 32, 64, 72, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 256, 320},
          "columns of C a block computes"},
      {"block_k", {panel, 2 * panel, 4 * panel}, "K-step: elements of K in a stage"},
      {"stages", {2, 3, 4, 5, 6, 7, 8, 10, 12, 16},
          "buffers in shared memory, filled ahead by the tensor memory accelerator"},
      {"warpgroups", {1, 2, 3}, "groups of four warps that multiply"},
      {"schedule", {one_tile, cooperative, ping_pong},
          "0: a block a tile; 1: as many blocks as fit the device, each doing tile after tile with all warpgroups; 2: the "
          "same, each warpgroup with a tile of its own, so that one's products hide the other's epilogue"},
      {"even",
          target.batch_mode == BatchMode::single && !is_split ? std::vector{0, 1}
                                                              : std::vector{0},  // it deals out one C
          "1: columns are dealt evenly among as many tiles as all blocks do in their rounds, some of them 16 columns narrower "
          "(swapped operands: rows)"},
      {"stagger", is_split ? std::vector{0} : std::vector{0, 3, 4, 6},
          "K-steps that the second of two warpgroups on a tile has left when the first has started all of its own: each "
          "stores while the other multiplies"},
      {"cluster_m", {1, 2, 4, 8}, "blocks side by side along M that share B: each copies a part of it to all"},
      {"cluster_n", {1, 2, 4, 8}, "blocks side by side along N that share A"},
      {"min_blocks", {1, 2}, "blocks an SM must have room for"},
      {"group_m", {1, 4, 8, 16},
          "tile rows (of clusters) walked together, so that running blocks share operands in the L2"},
      {"store_staged", {0, 1},
          "1: C through shared memory, in 16-byte stores of whole rows; 0: straight from registers, traded within quads"},
      {"store_tma", {0, 1},
          "1: from shared memory to C by the tensor memory accelerator, in boxes of 16 rows × 128 bytes"},
      {"swap", {0, 1}, "1: the instruction's rows run along N, its columns along M: for few rows of C"},
      {"split_k", {1, 2, 4, 8, 16, 32, 64}, "slices of K computed by different blocks and added afterwards"},
      {"reduction", {through_workspace, atomic, within_cluster},
          "how slices are added: 0 through the workspace and a second launch; 1 atomically (not deterministic in floating "
          "point); 2 among the up to 8 blocks of a cluster, what is left through the workspace"},
      {"pack", {0, pack_a, pack_b, pack_a | pack_b},
          "operands copied into aligned scratch first, K-major: 1 A, 2 B, 3 both"},
      early_launch_parameter(target),
  };
  if (is_split)
    all.push_back({"promote", {1, 2},
        "K-steps whose products are added up from zero, truncated, before they are rounded into the sums"});
  for (Parameter& parameter : sub_byte_parameters(target, widening(target, false))) all.push_back(std::move(parameter));
  return all;
}

namespace {

/// What an instruction multiplies: tiles and their warpgroups.
std::vector<Rule> instruction_rules(const KernelTarget& target) {
  const TypePair type = target.type;
  const Stored trans = target.signature();
  return {
      {"rows of a warpgroup", "an instruction has 64 rows: the warpgroups of a tile take as many each",
          [type, trans](const Config& c) {
            const Geometry g(c, type, trans);
            return g.left_tiles >= 1 && g.left_extent % (64 * g.tile_groups) == 0;
          },
          kTile},
      {"columns of an instruction", "two instructions have up to 320 columns, by 8 (8-bit integers: by 16 from 32 on)",
          [type, trans](const Config& c) {
            const Geometry g(c, type, trans);
            if (is_integer(type.a) && g.right_extent >= 32 && g.right_extent % 16 != 0) return false;
            return g.right_extent <= kMostColumns;
          },
          kTile},
      {"columns of two instructions",
          "more than 256 columns (swapped: rows) are two instructions', for two warpgroups of 64 rows on a tile; a copy has up to 256 "
          "rows, so that of operands that lie K-major two blocks of a cluster copy a part each",
          [type, trans](const Config& c) {
            const Geometry g(c, type, trans);
            if (g.instructions == 1) return g.left_extent <= kMostInstructionColumns;
            if (g.left_extent != 128 || g.tile_groups != 2) return false;
            return c.at(g.swap ? "cluster_n" : "cluster_m") > 1 ||
                   !(g.swap ? a_k_major(c, trans) : b_k_major(c, trans));
          },
          with(kTile, {"cluster_m", "cluster_n", "pack"})},
      {"few columns",
          "less than 32 are for a C of no more (swapped: of as few rows), by one tile a block, of 64 rows for each of up to two "
          "warpgroups, and in no clusters along N, where there is nothing beside it",
          [](const Config& c) {
            if (!has_few_columns(c)) return true;
            const int groups = c.at("warpgroups");
            return c.at("schedule") == one_tile && groups <= 2 && c.at("block_m") == 64 * groups &&
                   c.at("cluster_n") == 1;
          },
          {"block_m", "block_n", "warpgroups", "schedule", "swap", "cluster_n"}},
      {"swapped operands",
          "they are for few rows of C, stored straight or added by a cluster; for rows in no multiple of 64, which the "
          "accelerator stores; for a B that must come from registers; or, in large persistent tiles, for a B that lies along N "
          "beside an A that does not lie along M, whose rows may then be of any number where B's columns come by panels",
          [type, trans](const Config& c) {
            if (c.at("swap") == 0 || trans.sparsity == Sparsity::b) return true;  // of which sparse_rules() speaks
            if (trans.weights.type != WeightType::none)
              return c.at("store_staged") == 0 || (c.at("store_tma") == 1 && c.at("schedule") == one_tile);
            if (left_from_registers(c, type, trans)) return c.at("store_staged") == 0;
            if (c.at("schedule") != one_tile)
              return c.at("store_staged") == 0 && c.at("block_m") >= 128 && a_k_major(c, trans) && !b_k_major(c, trans);
            if (c.at("store_tma") == 1) return c.at("block_m") > 64 && c.at("block_m") % 64 != 0;
            return c.at("store_staged") == 0 && c.at("block_m") <= 128;
          },
          {"block_m", "schedule", "store_staged", "store_tma", "swap", "pack"}},
  };
}

/// Which warpgroup does what, and when.
std::vector<Rule> schedule_rules() {
  return {
      {"warpgroups", "three share tiles that two cannot split; ping-pong is played by two",
          [](const Config& c) {
            const int groups = c.at("warpgroups");
            if (c.at("schedule") == ping_pong) return groups == 2;
            return groups < 3 || c.at(c.at("swap") == 1 ? "block_n" : "block_m") % 128 != 0;
          },
          kTile},
      {"stagger",
          "two warpgroups on large tiles, whose epilogue is worth hiding, go apart, and no further than the ring holds; "
          "what adds or stores the sums of both at a time waits for both",
          [](const Config& c) {
            if (c.at("stagger") == 0) return true;
            return c.at("warpgroups") == 2 && c.at("schedule") != ping_pong && c.at("stagger") <= c.at("stages") &&
                   c.at("block_m") * c.at("block_n") >= 128 * 128 && c.at("split_k") == 1 &&
                   (c.at("store_tma") == 0 || c.at("schedule") != one_tile);
          },
          {"block_m", "block_n", "warpgroups", "schedule", "stagger", "stages", "split_k", "store_tma"}},
      {"columns dealt evenly",
          "persistent blocks do, of large tiles in no clusters along N that are stored row by row; swapped ones deal rows, in no "
          "clusters along M",
          [](const Config& c) {
            if (c.at("even") == 0) return true;
            const bool swap = c.at("swap") == 1;
            return c.at("schedule") != one_tile && c.at(swap ? "cluster_m" : "cluster_n") == 1 &&
                   c.at("store_tma") == 0 && c.at(swap ? "block_m" : "block_n") >= 128;
          },
          {"block_m", "block_n", "schedule", "even", "cluster_m", "cluster_n", "store_tma", "swap"}},
  };
}

/// Registers and blocks of an SM, clusters.
std::vector<Rule> grid_rules(const KernelTarget& target) {
  const TypePair type = target.type;
  const Stored trans = target.signature();
  const DeviceLimits limits = target.limits;
  return {
      {"sums of a thread", "sums fill the registers: beyond 192 a thread the rest spills",
          [type, trans](const Config& c) { return Geometry(c, type, trans).held_registers <= 192; }, kTile},
      {"registers of an SM",
          "the resident blocks' sums, and a left operand's words, must fit the register file beside addresses; registers "
          "are traded by whole groups of "
          "four warps",
          [type, trans, limits](const Config& c) {
            const Geometry g(c, type, trans);
            return g.held_registers + g.left_registers + 32 <= g.available_registers(limits.registers_per_sm);
          },
          with(kTile, {"block_k", "min_blocks", "pack"})},
      {"clusters",
          "2 blocks share operands; up to 8 do in a grid of one wave, where fewer SMs than there are may do. Clusters "
          "that add "
          "slices of K share none",
          [](const Config& c) {
            const int sharing = c.at("cluster_m") * c.at("cluster_n");
            if (sharing == 1) return true;
            if (c.at("split_k") > 1 && c.at("reduction") == within_cluster) return false;
            const bool one_wave = c.at("schedule") == one_tile && c.at("min_blocks") == 1 && c.at("split_k") == 1;
            return sharing <= (one_wave ? 8 : 2);
          },
          {"schedule", "cluster_m", "cluster_n", "min_blocks", "split_k", "reduction"}},
      {"small tiles", "persistent blocks are for tiles that fill an SM: small ones are for problems of one wave",
          [](const Config& c) { return c.at("schedule") == one_tile || c.at("block_m") * c.at("block_n") >= 64 * 128; },
          {"block_m", "block_n", "schedule"}},
      {"resident blocks", "persistent blocks have an SM each",
          [](const Config& c) { return c.at("min_blocks") == 1 || c.at("schedule") == one_tile; },
          {"schedule", "min_blocks"}},
  };
}

/// How slices of K are added, and how C is stored.
std::vector<Rule> sum_rules(const KernelTarget& target) {
  const TypePair type = target.type;
  const Stored trans = target.signature();
  return {
      reduction_rule(),
      atomic_adds_rule(target),
      byte_results_rule(target),
      {"split K", "slices are for problems of few tiles: persistent grids and bands of tiles are not",
          [](const Config& c) {
            return c.at("split_k") == 1 || (c.at("schedule") == one_tile && c.at("group_m") == 1);
          },
          {"split_k", "schedule", "group_m"}},
      {"store of sums", "sums that a cluster adds are stored from shared memory; the other ways are not used",
          [](const Config& c) { return cluster_k(c) == 1 || c.at("store_staged") == 0; },
          {"split_k", "reduction", "store_staged"}},
      {"store by the accelerator",
          "it stores boxes of 16 rows of 128 bytes, by way of shared memory, whose sums a warp has whole and to itself: "
          "of persistent blocks, which go on meanwhile. Or a block has them, with swapped operands. Results of a byte are not written into "
          "boxes",
          [type, trans](const Config& c) {
            if (c.at("store_tma") == 0) return true;
            if (has_byte_results(type)) return false;
            if (c.at("store_staged") == 0 || c.at("split_k") > 1) return false;
            if (left_from_registers(c, type, trans)) return false;  // its rows lie anyhow
            return (c.at("swap") == 1 || c.at("schedule") != one_tile) && c.at("block_m") % kBoxRows == 0 &&
                   c.at("block_n") * int(size_bytes(type.output)) % kBoxRowBytes == 0;
          },
          {"block_m", "block_n", "schedule", "store_staged", "store_tma", "swap", "split_k", "pack"}},
  };
}

/// How operands lie in shared memory.
std::vector<Rule> stage_rules(const KernelTarget& target) {
  const TypePair type = target.type;
  const Stored trans = target.signature();
  const DeviceLimits limits = target.limits;
  return {
      {"bands of tiles", "narrow tiles are for problems as narrow: one band",
          [](const Config& c) { return c.at("group_m") == 1 || std::min(c.at("block_m"), c.at("block_n")) >= 64; },
          {"block_m", "block_n", "group_m"}},
      {"shared memory",
          "the stages and what the epilogue needs must fit the shared memory of a block, and of an SM for all resident "
          "blocks (1 KiB of each is the system's)",
          [type, trans, limits](const Config& c) {
            return fits_shared_memory(Geometry(c, type, trans).smem_bytes, c.at("min_blocks"), limits);
          },
          with(kTile, {"block_k", "stages", "min_blocks", "stagger", "store_staged", "store_tma", "split_k",
                          "reduction", "pack"})},
      {"long K-steps",
          "of 512 bytes they are for swapped operands of few rows, or one warpgroup on few columns, whose tiles are little to copy at "
          "a time; a copy has up to 256 rows",
          [type, trans](const Config& c) {
            if (c.at("block_k") <= kUsualPanels * panel_elements(type)) return true;
            const bool few = c.at("swap") == 1 ? c.at("block_m") <= 32 : has_few_columns(c) && c.at("block_m") == 64;
            return few && (c.at("block_k") <= kBoxRowsMost || (a_k_major(c, trans) && b_k_major(c, trans)));
          },
          {"block_m", "block_n", "block_k", "swap", "pack"}},
      {"stages in flight", "fewer than 16 KiB in flight a block cannot cover the memory's latency",
          [type, trans](
              const Config& c) { return (c.at("stages") - 1) * Geometry(c, type, trans).stage_bytes >= 16 * 1024; },
          with(kTile, {"block_k", "stages", "pack"})},
      {"packing",
          "of operands of 8 and 32 bits the right one is packed where it lies MN-major, of f32x3 always, big and small; packed operands lie where split K's "
          "partial sums would",
          [type, trans](const Config& c) {
            const int pack = c.at("pack"), must = must_pack(type, trans, c.at("swap") == 1);
            if ((pack & must) != must) return false;
            return pack == 0 || leaves_workspace_to_packing(c);
          },
          {"swap", "split_k", "reduction", "pack"}},
  };
}

}  // namespace

std::vector<Rule> rules(const KernelTarget& target) {
  std::vector<Rule> all = joined({sparse_rules(target), option_rules(target), instruction_rules(target),
      schedule_rules(), grid_rules(target), sum_rules(target), stage_rules(target), group_rules(target),
      pointer_rules(target, ""), pointer_store_rules(target), sub_byte_rules(target, widening(target, false), false)});
  if (target.type.a == Scalar::f32x3) {
    all.push_back(
        {"promotion", "what a tensor core truncates grows with the products that it adds up: those of up to 64 of K",
            [](const Config& c) { return c.at("promote") == 1 || c.at("promote") * c.at("block_k") <= kMostPromoted; },
            {"block_k", "promote"}});
  }
  return all;
}

}  // namespace tilesmith::wgmma
