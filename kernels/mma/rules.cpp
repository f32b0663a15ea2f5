#include "kernels/mma/mma.hpp"

#include <algorithm>

#include "kernels/families/shared_rules.hpp"

namespace tilesmith::mma {
namespace {

/// What the compiler splits of f32x3, and multiplies, before it is its turn; and what it loads of sparse operands.
/// (Measured: fewer spill.)
constexpr int kScheduledAhead = 32;

/// What counting XOR by AND takes (sm_90).
constexpr int kEmulated = 64;

const Names kTile{"block_m", "block_n", "warp_m", "warp_n"};

bool summed_in_shared(const Config& c) {
  return c.at("slice_k") > 1 || (c.at("split_k") > 1 && c.at("reduction") == within_cluster);
}

/// Tiles of a block and of its warps.
std::vector<Rule> tile_rules() {
  return {
      {"warp in block", "a block's tile must split into whole tiles of warps",
          [](const Config& c) {
            return c.at("block_m") % c.at("warp_m") == 0 && c.at("block_n") % c.at("warp_n") == 0;
          },
          kTile},
      {"block tile", "tiles of more than 256x192 leave no registers for the sums of all warps",
          [](const Config& c) { return c.at("block_m") * c.at("block_n") <= 256 * 192; }, {"block_m", "block_n"}},
      {"warps", "up to 16 warps a block: more cannot hold tiles large enough to pay for their fragment loads",
          [](const Config& c) {
            const int warps = c.at("block_m") / c.at("warp_m") * (c.at("block_n") / c.at("warp_n"));
            return warps >= 1 && warps <= 16;
          },
          kTile},
      {"warp tile",
          "a warp's tile of 16x16 in a large block, or four times longer than wide, loads more than it multiplies",
          [](const Config& c) {
            const int m = c.at("warp_m"), n = c.at("warp_n");
            if (c.at("block_m") == 16 || c.at("block_n") == 16) return m * n <= 16 * 128;
            return m * n >= 16 * 32 && std::max(m, n) <= 4 * std::min(m, n) &&
                   std::max(c.at("block_m"), c.at("block_n")) <= 4 * std::min(c.at("block_m"), c.at("block_n"));
          },
          kTile},
  };
}

/// What a warp holds and multiplies in a K-step.
std::vector<Rule> warp_rules(const KernelTarget& target) {
  const KernelSignature signature = target;
  const TypePair type = target.type;
  const DeviceLimits limits = target.limits;
  return {
      {"registers of a thread", "sums and fragments beyond about 232 registers spill",
          [signature, type, limits](const Config& c) {
            const Geometry g(c, signature);
            const int kept = type.a == Scalar::f32x3 || signature.sparsity != Sparsity::dense ? kScheduledAhead
                             : type.a == Scalar::b1xor && !limits.features.xor_products       ? kEmulated
                                                                                              : 0;
            return g.accumulator_registers + g.fragment_registers + g.split_registers <= 232 - kept;
          },
          {"inst_k", "warp_m", "warp_n", "swap", "frag_buffers"}},
      {"sliced K",
          "it is for few warps with small tiles, of up to 8; split K serves the same end among blocks, and the two do not "
          "meet; a step must give each warp whole slabs",
          [signature](const Config& c) {
            if (c.at("slice_k") == 1) return true;
            const Geometry g(c, signature);
            return c.at("warp_m") * c.at("warp_n") <= 64 * 64 && g.slabs >= 1 && g.multiplying_threads <= 256 &&
                   c.at("split_k") == 1 && c.at("copy_bytes") == 16;
          },
          with(kTile, {"inst_k", "block_k", "slice_k", "split_k", "copy_bytes"})},
      {"slabs", "a K-step holds at least one slab for every warp",
          [signature](const Config& c) { return Geometry(c, signature).slabs >= 1; }, {"inst_k", "block_k", "slice_k"}},
      {"fragment buffers", "two buffers change places a whole number of times a K-step",
          [signature](const Config& c) { return c.at("frag_buffers") == 1 || Geometry(c, signature).slabs % 2 == 0; },
          {"inst_k", "block_k", "slice_k", "frag_buffers"}},
      {"registers of an SM",
          "the resident blocks' sums and fragments must fit the register file beside addresses; where the copying "
          "warps give up theirs (sm_90a), whole groups of four warps take them",
          [signature, type, limits](const Config& c) {
            const Geometry g(c, signature);
            if (g.trades_registers && (!limits.features.wgmma || g.multiplying_threads % 128 != 0)) return false;
            const int others = type.a == Scalar::f32x3                                    ? 24 + kScheduledAhead
                               : type.a == Scalar::b1xor && !limits.features.xor_products ? 24 + kEmulated
                                                                                          : 24;
            return g.accumulator_registers + g.fragment_registers + g.split_registers + others <=
                   g.available_registers(limits.registers_per_sm);
          },
          with(kTile, {"inst_k", "swap", "slice_k", "frag_buffers", "min_blocks", "tma"})},
      {"threads of an SM", "the resident blocks' threads must fit an SM",
          [signature, type, limits](
              const Config& c) { return Geometry(c, signature).threads * c.at("min_blocks") <= limits.threads_per_sm; },
          with(kTile, {"inst_k", "slice_k", "frag_buffers", "min_blocks", "tma"})},
  };
}

/// How slices of K are added, and how C is stored.
std::vector<Rule> sum_rules(const KernelTarget& target) {
  const TypePair type = target.type;
  const int columns_of_one = target.epilogue.is_gated() ? 2 : 1;  // columns of the product for one of D
  return {
      reduction_rule(),
      atomic_adds_rule(target),
      byte_results_rule(target),
      {"split K", "slices are for problems of few tiles: persistent grids and bands of tiles are not",
          [](const Config& c) { return c.at("split_k") == 1 || (c.at("persistent") == 0 && c.at("group_m") == 1); },
          {"split_k", "persistent", "group_m"}},
      {"store of sums", "sums that meet in shared memory are stored from there; the other ways are not used",
          [](const Config& c) {
            return !summed_in_shared(c) || (c.at("store_staged") == 0 && c.at("persistent") == 0);
          },
          {"slice_k", "split_k", "reduction", "store_staged", "persistent"}},
      {"staged store", "a row of a warp's tile must split into 16-byte stores",
          [type, columns_of_one](const Config& c) {
            return c.at("store_staged") == 0 ||
                   c.at("warp_n") / columns_of_one * int(size_bytes(type.output)) % 16 == 0;
          },
          {"warp_n", "store_staged"}},
  };
}

/// In which order a grid does its tiles.
std::vector<Rule> grid_rules() {
  return {
      {"persistent tiles", "small tiles are for small problems, which one wave of blocks does",
          [](const Config& c) { return c.at("persistent") == 0 || c.at("block_m") * c.at("block_n") >= 64 * 128; },
          {"block_m", "block_n", "persistent"}},
      {"bands of tiles",
          "tiles of 16 rows or columns are for problems as narrow: one band; bands of more than 2048 rows are taller "
          "than what the blocks of any device compute at a time is wide",
          [](const Config& c) {
            const int group = c.at("group_m");
            return group == 1 || (std::min(c.at("block_m"), c.at("block_n")) >= 64 && group * c.at("block_m") <= 2048);
          },
          {"block_m", "block_n", "group_m"}},
  };
}

/// How operands lie in shared memory.
std::vector<Rule> stage_rules(const KernelTarget& target) {
  const KernelSignature signature = target;
  const Transposes trans = target.trans;
  const DeviceLimits limits = target.limits;
  const int element = int(size_bytes(target.type.a));
  return {
      {"swapped operands",
          "where rows of tf32 run along M or N, a load brings two words of the left operand or one of the right: it is "
          "for B alone that lies so, and for warps of 32 columns, whose sums are stored from registers; tried with two buffers of "
          "fragments and copies of 16 bytes",
          [trans, sparse_b = target.sparsity == Sparsity::b](const Config& c) {
            if (sparse_b) return c.at("store_staged") == 0;
            return c.at("swap") == 0 ||
                   (a_k_major(c, trans) && !b_k_major(c, trans) && c.at("warp_n") % 32 == 0 &&
                       c.at("store_staged") == 0 && c.at("frag_buffers") == 2 && c.at("copy_bytes") == 16);
          },
          {"warp_n", "swap", "frag_buffers", "store_staged", "copy_bytes", "pack", "pack_k_major"}},
      {"shared memory",
          "the stages and what the epilogue needs must fit the shared memory of a block, and of an SM for all "
          "resident blocks (1 KiB of each is the system's)",
          [signature, limits](const Config& c) {
            return fits_shared_memory(Geometry(c, signature).smem_bytes, c.at("min_blocks"), limits);
          }},
      {"stages in flight", "fewer than 8 KiB in flight a block cannot cover the memory's latency, except in tiny tiles",
          [signature](
              const Config& c) { return (c.at("stages") - 1) * Geometry(c, signature).stage_bytes >= 8 * 1024; },
          {"block_m", "block_n", "block_k", "stages", "copy_bytes"}},
      {"rows of a stage", "a row that lies along M or N must be 32 bytes at least: two chunks to exchange",
          [trans, element](const Config& c) {
            const bool a = a_k_major(c, trans) || c.at("block_m") * element >= 32;
            const bool b = b_k_major(c, trans) || c.at("block_n") * element >= 32;
            return a && b;
          },
          {"block_m", "block_n", "pack", "pack_k_major"}},
  };
}

/// Operands that are copied into scratch first.
std::vector<Rule> packing_rules(const KernelTarget& target) {
  const Transposes trans = target.trans;
  return {
      {"packing",
          "packed operands are copied in 16-byte chunks, and lie where split K's partial sums would; a pass before the "
          "GEMM hides what persistent grids and single buffers are tried for, but large operands are turned K-major for "
          "large problems",
          [](const Config& c) {
            if (c.at("pack") == 0) return true;
            if ((c.at("persistent") == 1 && c.at("pack_k_major") == 0) || c.at("frag_buffers") == 1) return false;
            return c.at("copy_bytes") == 16 && leaves_workspace_to_packing(c);
          },
          {"pack", "pack_k_major", "copy_bytes", "split_k", "reduction", "persistent", "frag_buffers"}},
      {"packing K-major", "there must be a packed operand that lies along M or N",
          [trans](const Config& c) {
            return c.at("pack_k_major") == 0 || a_k_major(c, trans) == trans.a || b_k_major(c, trans) != trans.b;
          },
          {"pack", "pack_k_major"}},
  };
}

/// How a stage is filled.
std::vector<Rule> copy_rules(const KernelTarget& target) {
  const KernelSignature signature = target;
  const Transposes trans = target.trans;
  const int element = int(size_bytes(target.type.a));
  const bool gated = target.epilogue.is_gated();
  return {
      {"narrow copies", "more copies a thread: narrower than 16 bytes for one band, a tile a block, with few stages",
          [](const Config& c) {
            return c.at("copy_bytes") == 16 || skewed(c) ||
                   (c.at("persistent") == 0 && c.at("group_m") == 1 && c.at("stages") <= 6);
          },
          {"stages", "group_m", "persistent", "copy_bytes"}},
      {"skewed rows",
          "copied in aligned chunks of 16 bytes, they keep their places between them, which a block works out once: "
          "operands as they lie, one tile a block, rows in their order; and loaded element by element, they gain where "
          "packing would be most of the work: one band, unsplit",
          [gated](const Config& c) {
            return !skewed(c) || (c.at("persistent") == 0 && c.at("pack") == 0 && c.at("stages") <= 4 &&
                                     c.at("group_m") == 1 && c.at("split_k") == 1 && !gated);
          },
          {"stages", "group_m", "persistent", "split_k", "pack", "copy_bytes"}},
      {"copies of a thread",
          "a K-step that gives most threads nothing to copy wastes them; more than 32 copies a thread spill",
          [signature](const Config& c) {
            const Geometry g(c, signature);
            const std::int64_t copies = g.stage_bytes / chunk_bytes(c);
            return copies * 2 >= g.multiplying_threads && copies <= 32 * g.multiplying_threads;
          },
          with(kTile, {"block_k", "slice_k", "copy_bytes"})},
      {"tensor copies",
          "the accelerator swizzles as the fragment loads of 16-bit and tf32 operands, and of K-major 8-bit ones, "
          "expect it, in rows of 32 or whole 64 bytes; it is tried with pipelines deep enough to be worth a warp "
          "that only copies, and two buffers of fragments",
          [trans, element](const Config& c) {
            if (c.at("tma") == 0) return true;
            if (element == 8 || c.at("copy_bytes") < 16 || c.at("stages") < 3 || c.at("frag_buffers") == 1)
              return false;
            if (c.at("block_k") * element < 128 && c.at("stages") < 6) return false;
            const auto fits = [&](bool k_major, int block, int warp) {
              if (k_major || (element == 4 && warp % 32 == 0)) return true;
              return element == 2 && (block * element <= 64 || block * element % 64 == 0);
            };
            return fits(a_k_major(c, trans), c.at("block_m"), c.at("warp_m")) &&
                   fits(b_k_major(c, trans), c.at("block_n"), c.at("warp_n"));
          },
          with(kTile, {"block_k", "stages", "frag_buffers", "copy_bytes", "tma", "pack", "pack_k_major"})},
      {"threads of a row",
          "the block's threads must split into whole rows of a tile's copies, and cover whole groups of exchanged chunks "
          "of a row",
          [signature, trans, element](const Config& c) {
            if (skewed(c)) return true;
            const Geometry g(c, signature);
            const auto fits = [&](int row_elements) {
              const int chunks = row_elements * element / c.at("copy_bytes");
              const int even = chunks & -chunks, share = std::min(even, g.multiplying_threads);
              return g.multiplying_threads % share == 0 &&
                     (even <= g.multiplying_threads || share * c.at("copy_bytes") % 128 == 0);
            };
            const int of_a = signature.sparsity == Sparsity::a ? 2 : 1,
                      of_b = signature.sparsity == Sparsity::b ? 2 : 1;
            return fits(a_k_major(c, trans) ? c.at("block_k") / of_a : c.at("block_m")) &&
                   fits(b_k_major(c, trans) ? c.at("block_k") / of_b : c.at("block_n"));
          },
          with(kTile, {"block_k", "slice_k", "copy_bytes", "pack", "pack_k_major"})},
  };
}

/// Launches of one sequence.
std::vector<Rule> overlap_rules(const KernelTarget& target) {
  const bool overlaps = target.limits.features.dependent_launch;
  return {
      {"overlap",
          "the launches of a sequence overlap wherever the device can (sm_90): waiting for each other's end gains nothing",
          [overlaps](const Config& c) { return c.at("overlap") == (overlaps && has_passes(c) ? 1 : 0); },
          {"split_k", "reduction", "pack", "overlap"}},
  };
}

/// What scaled.cu multiplies.
std::vector<Rule> scaled_rules(const KernelTarget& target) {
  if (!target.epilogue.has_block_scales()) return {};
  return {{"scales of blocks",
      "all threads copy a step's scales beside its operands, for one tile a block, which is multiplied from two buffers "
      "of fragments",
      [](const Config& c) { return c.at("tma") == 0 && c.at("persistent") == 0 && c.at("frag_buffers") == 2; },
      {"tma", "persistent", "frag_buffers"}}};
}

}  // namespace

std::vector<Rule> rules(const KernelTarget& target) {
  return joined({{paired_columns_rule(target, b_k_major, {"pack", "pack_k_major"})}, tile_rules(), warp_rules(target),
      sum_rules(target), grid_rules(), stage_rules(target), packing_rules(target), copy_rules(target),
      overlap_rules(target), sparse_rules(target), scaled_rules(target), group_rules(target),
      pointer_rules(target, "tma"), sub_byte_rules(target, widening(target, true), true)});
}

}  // namespace tilesmith::mma
