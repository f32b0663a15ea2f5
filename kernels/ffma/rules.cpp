#include "kernels/ffma/ffma.hpp"

#include <algorithm>

#include "kernels/families/passes.hpp"
#include "kernels/families/shared_rules.hpp"

namespace tilesmith::ffma {
namespace {

using namespace tensor_core;

const Names kTile{"block_m", "block_n", "thread_m", "thread_n", "lanes_m"};
const Names kThreads = with(kTile, {"slice_k"});
const Names kCopies = with(kThreads, {"block_k", "copy_bytes"});

/// Operands along K are copied by words in any case.
bool copies_words(Transposes trans) { return a_along_k(trans) && b_along_k(trans); }

/// Tiles of a block, its warps and its threads.
std::vector<Rule> tile_rules() {
  return {
      {"thread tile",
          "more than 128 sums leave no registers for two buffers of operands; tiles four times longer than wide read more than they multiply",
          [](const Config& c) {
            const int m = c.at("thread_m"), n = c.at("thread_n");
            return m * n <= 128 && std::max(m, n) <= 2 * std::min(m, n);
          },
          {"thread_m", "thread_n"}},
      {"warp in block",
          "a block's tile must split into whole tiles of warps, whose 32 threads lie lanes_m by 32 / lanes_m",
          [](const Config& c) {
            return c.at("block_m") % (c.at("lanes_m") * c.at("thread_m")) == 0 &&
                   c.at("block_n") % (32 / c.at("lanes_m") * c.at("thread_n")) == 0;
          },
          kTile},
      {"block tile", "tiles four times longer than wide read more than they multiply, except of 16 rows or columns",
          [](const Config& c) {
            const auto [least, most] = std::minmax({c.at("block_m"), c.at("block_n")});
            return most <= (least == 16 ? 8 : 4) * least;
          },
          {"block_m", "block_n"}},
      {"sliced K", "it is for blocks of few warps, up to 16 in all; each takes four K of a step or more",
          [](const Config& c) { return c.at("slice_k") == 1 || c.at("block_k") / c.at("slice_k") >= 4; },
          {"block_k", "slice_k"}},
  };
}

/// What fits an SM.
std::vector<Rule> limit_rules(const KernelTarget& target) {
  const Transposes trans = target.trans;
  const DeviceLimits limits = target.limits;
  return {
      {"warps", "from 2 to 16 warps a block: one alone waits for its own copies, more leave each too few registers",
          [trans](const Config& c) {
            const int threads = Geometry(c, trans).threads;
            return threads >= 64 && threads <= 512;
          },
          kThreads},
      {"registers",
          "sums and both buffers of operands must fit a thread's registers beside addresses, for all resident blocks",
          [trans, limits](const Config& c) {
            return registers_left(Geometry(c, trans), c.at("min_blocks"), limits) >= kFewestOtherRegisters;
          },
          with(kThreads, {"min_blocks"})},
      {"threads of an SM", "the resident blocks' threads must fit an SM",
          [trans, limits](
              const Config& c) { return Geometry(c, trans).threads * c.at("min_blocks") <= limits.threads_per_sm; },
          with(kThreads, {"min_blocks"})},
      {"shared memory",
          "the stages, and the sums of sliced K in their place, must fit the shared memory of a block, and of an SM for all resident "
          "blocks (1 KiB of each is the system's)",
          [trans, limits](const Config& c) {
            return fits_shared_memory(Geometry(c, trans).smem_bytes, c.at("min_blocks"), limits);
          },
          with(kThreads, {"block_k", "stages", "min_blocks"})},
      {"stages in flight", "fewer than 8 KiB in flight an SM cannot cover the memory's latency, except in tiny tiles",
          [trans](const Config& c) {
            const Geometry g(c, trans);
            const int in_flight = (c.at("stages") - 1) * g.stage_bytes * c.at("min_blocks");
            return in_flight >= (g.block_m * g.block_n <= 32 * 64 ? 4 : 8) * 1024;
          },
          {"block_m", "block_n", "block_k", "stages", "min_blocks"}},
  };
}

/// How a stage is filled.
std::vector<Rule> copy_rules(const KernelTarget& target) {
  const Transposes trans = target.trans;
  const bool words_only = copies_words(trans);
  return {
      {"threads of a row",
          "the block's threads must split into whole rows of a tile's copies, and these into whole passes of the block",
          [trans](const Config& c) { return Geometry(c, trans).splits_copies; }, kCopies},
      {"copies of a thread", "more than 48 copies a thread and step leave no time to multiply",
          [trans](const Config& c) { return Geometry(c, trans).copies <= 48; }, kCopies},
      {"narrow copies",
          "more copies a thread: narrower than 16 bytes, where there are wider ones, with one way to walk the tiles and to share them",
          [words_only](const Config& c) {
            return words_only || c.at("copy_bytes") == 16 ||
                   (c.at("group_m") == 1 && c.at("lanes_m") == 4 && c.at("reduction") == through_workspace);
          },
          {"lanes_m", "copy_bytes", "group_m", "reduction"}},
      {"copies at once",
          "of the values that start a step's copies in as few groups the smallest: the kernel is the same",
          [trans](const Config& c) {
            if (c.at("copies_at_once") == 1) return true;
            Config fewer = c;
            fewer.set("copies_at_once", c.at("copies_at_once") / 2);
            return Geometry(c, trans).copy_groups < Geometry(fewer, trans).copy_groups;
          },
          with(kCopies, {"copies_at_once"})},
  };
}

/// Slices of K among blocks, and in which order a grid does its tiles.
std::vector<Rule> grid_rules(const KernelTarget& target) {
  const bool overlaps = target.limits.features.dependent_launch;
  return {
      reduction_rule(),
      atomic_adds_rule(target),
      {"split K", "slices are for problems of few tiles: bands of tiles are not",
          [](const Config& c) { return c.at("split_k") == 1 || c.at("group_m") == 1; }, {"split_k", "group_m"}},
      {"bands of tiles",
          "small tiles are for small problems: one band; bands of more than 2048 rows are taller than what the blocks of any device "
          "compute at a time is wide",
          [](const Config& c) {
            const int group = c.at("group_m");
            return group == 1 || (std::min(c.at("block_m"), c.at("block_n")) >= 64 && group * c.at("block_m") <= 2048);
          },
          {"block_m", "block_n", "group_m"}},
      {"overlap",
          "the launches of a sequence overlap wherever the device can (sm_90): waiting for each other's end gains nothing",
          [overlaps](const Config& c) { return c.at("overlap") == (overlaps && c.at("split_k") > 1 ? 1 : 0); },
          {"split_k", "overlap"}},
  };
}

}  // namespace

bool supports(const KernelTarget& target) {
  return is_plain_but_epilogue_and_batch(target) && !target.epilogue.is_gated() && target.type.a == Scalar::f32 &&
         target.type.b == Scalar::f32;
}

std::vector<Parameter> parameters(const KernelTarget& target) {
  return {
      {"block_m", {16, 32, 64, 96, 128, 192, 256}, "rows of C a block computes"},
      {"block_n", {16, 32, 64, 96, 128, 192, 256}, "columns of C a block computes"},
      {"block_k", {8, 16, 32}, "K-step: elements of K in a stage"},
      {"thread_m", {4, 8, 16}, "rows of C a thread computes"},
      {"thread_n", {4, 8, 16}, "columns of C a thread computes"},
      {"lanes_m", {4, 8}, "threads of a warp along M; the others lie along N"},
      {"by_columns", {0, 1},
          "a thread's products of one k 0: row by row; 1: column by column; forth and back either way"},
      {"stages", {2, 3, 4}, "buffers in shared memory, filled ahead by cp.async"},
      {"slice_k", {1, 2, 4}, "sliced K: groups of warps that share a tile, each taking a part of every K-step"},
      {"min_blocks", {1, 2, 3, 4},
          "blocks an SM must have room for: the compiler keeps to that share of the registers"},
      {"copy_bytes", copies_words(target.trans) ? std::vector{4} : std::vector{16, 8, 4},
          "width of a copy from global to shared memory; operands whose rows lie along K are turned on their way, in copies of 4"},
      {"copies_at_once", {1, 2, 4}, "a step's copies that a thread starts together, so many spread among its products"},
      {"group_m", {1, 8}, "tile rows walked together, so that running blocks share operands in the L2"},
      {"split_k", {1, 2, 4, 8, 16, 32}, "slices of K computed by different blocks and added afterwards"},
      {"reduction", {through_workspace, atomic},
          "how slices are added: 0 through the workspace and a second launch; 1 atomically (not deterministic)"},
      {"overlap", off_or_on(target.limits.features.dependent_launch),
          "1: a launch starts while the one before it ends, and waits for its results (sm_90)"},
      early_launch_parameter(target),
  };
}

std::vector<Rule> rules(const KernelTarget& target) {
  return joined({tile_rules(), limit_rules(target), copy_rules(target), grid_rules(target), group_rules(target)});
}

}  // namespace tilesmith::ffma
