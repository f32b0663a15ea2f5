#include "kernels/wmma/wmma.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/families/shared_rules.hpp"
#include "kernels/problem/sub_byte.hpp"

namespace tilesmith::wmma {

std::vector<int> fragment_sizes(const TypePair& type) {
  if (type.a == Scalar::f64) return {8};
  if (type.a == Scalar::tf32) return {16};
  return {8, 16, 32};
}

std::vector<int> k_steps(const TypePair& type) {
  switch (size_bytes(type.a)) {
    case 1: return {16, 32, 64, 128};
    case 2: return {16, 32, 64};
    case 4: return {8, 16, 32};
    default: return {4, 8, 16, 32};
  }
}

std::vector<int> copy_widths(const TypePair& type) {
  switch (size_bytes(type.a)) {
    case 1: return {1, 4, 8, 16};
    case 2: return {2, 4, 8, 16};
    case 4: return {4, 8, 16};
    default: return {8, 16};
  }
}

std::optional<std::string> out_of_reach(const Config& config, const Problem& problem) {
  if (is_sub_byte(problem.type.a) || config.at("stages") > 0 || problem.type.a != Scalar::tf32) return std::nullopt;
  // Of tf32 alone: for other types the compiler multiplies a row's number by the stride in 64 bits.
  constexpr std::int64_t kRows = 16, kReach = std::int64_t{1} << 31;
  const std::int64_t stride = std::max(problem.lda, problem.ldb);
  if (kRows * stride < kReach) return std::nullopt;
  return fmt::format(
      "rows of A or B are {} elements apart; fragments straight from global memory count what their {} rows span in 32 bits, "
      "which takes less than {}",
      stride, kRows, kReach / kRows);
}

bool supports(const KernelTarget& target) {
  return is_plain_but_scalars(target) && tensor_core::has_instruction(target.type.a) &&
         target.type.a != Scalar::f32x3 && target.type.accumulator == target.type.output;
}

std::vector<Parameter> parameters(const KernelTarget& target) {
  if (is_sub_byte(target.type.a)) return sub_byte_parameters();
  const TypePair& type = target.type;
  // f64's fragments are a quarter of the others' size: twice as many along each side make the same tile.
  const std::vector<int> multiples_m = type.a == Scalar::f64 ? std::vector{1, 2, 4, 8} : std::vector{1, 2, 4};
  return {
      {"frag_m", fragment_sizes(type), "rows of a WMMA fragment of C"},
      {"frag_n", fragment_sizes(type), "columns of a WMMA fragment of C"},
      {"warps_m", {1, 2, 4}, "warps of a block along M"},
      {"warps_n", {1, 2, 4}, "warps of a block along N"},
      {"frags_m", multiples_m, "fragments of a warp along M (the block tile's multiple)"},
      {"frags_n", {1, 2, 4, 8}, "fragments of a warp along N (the block tile's multiple)"},
      {"block_k", k_steps(type), "K-step: elements of K staged, or loaded, at a time"},
      {"stages", {0, 1, 2, 3, 4},
          "0: operands straight from global memory; 1: staged in shared memory; 2 to 4: "
          "that many buffers, filled ahead by cp.async"},
      {"frag_buffers", {1, 2}, "slabs of fragments in registers: 2 loads the next while one is multiplied"},
      {"pad_bytes", {0, 16}, "padding of a row in shared memory, against bank conflicts"},
      {"copy_bytes", copy_widths(type), "width of a copy from global to shared memory"},
      {"group_m", {1, 8}, "tile rows walked together, so that running blocks share operands in the L2"},
      {"min_blocks", {1, 2}, "blocks an SM must have room for: 2 makes the compiler use at most half the registers"},
      {"store_direct", {0, 1},
          "1: whole fragments of C stored from registers; 0: through shared memory, with wide "
          "stores"},
  };
}

std::vector<Rule> rules(const KernelTarget& target) {
  if (is_sub_byte(target.type.a)) return sub_byte_rules();
  const TypePair type = target.type;
  const Transposes trans = target.trans;
  const DeviceLimits limits = target.limits;
  const int min_k_step = k_steps(type).front();
  const auto staged = [](const Config& c) { return c.at("stages") > 0; };
  return {
      {"wmma shape", "fragments of 16-bit and 8-bit types are 16x16, 32x8 or 8x32 (M x N), of tf32 16x16, of f64 8x8",
          [](const Config& c) {
            const int m = c.at("frag_m"), n = c.at("frag_n");
            return m == n ? m != 32 : m * n == 256;
          }},
      {"wmma shape of 16-bit and 8-bit types", "8x8 fragments exist for f64 only",
          [type](const Config& c) { return type.a == Scalar::f64 || c.at("frag_m") * c.at("frag_n") == 256; }},
      {"unused without staging",
          "straight from global memory there is no tile to pad, to copy or to step by, and no "
          "reason to hold the compiler to fewer registers",
          [staged, min_k_step](const Config& c) {
            return staged(c) || (c.at("pad_bytes") == 0 && c.at("copy_bytes") == 16 && c.at("block_k") == min_k_step &&
                                    c.at("min_blocks") == 1);
          }},
      {"padding",
          "rows of shared memory are powers of two long: without padding a fragment's rows start in the same banks",
          [staged](const Config& c) { return !staged(c) || c.at("pad_bytes") > 0; }},
      {"fragment buffers",
          "loading ahead needs an asynchronous pipeline to run into, and an even number of slabs a K-step",
          [type, trans](const Config& c) {
            if (c.at("frag_buffers") == 1) return true;
            return c.at("stages") >= 2 && (c.at("block_k") / Geometry(c, type, trans).frag_k) % 2 == 0;
          }},
      {"registers of a thread", "accumulators and operand fragments beyond about 220 registers spill",
          [type, trans](const Config& c) {
            const Geometry g(c, type, trans);
            return g.accumulator_registers + g.operand_registers <= 220;
          }},
      {"registers of an SM",
          "the resident blocks' accumulators and fragments must fit the register file beside addresses",
          [type, trans, limits](const Config& c) {
            const Geometry g(c, type, trans);
            const int estimate = g.accumulator_registers + g.operand_registers + 32;
            return estimate * g.warps * kWarpThreads * c.at("min_blocks") <= limits.registers_per_sm;
          }},
      {"threads of an SM", "the resident blocks' threads must fit an SM",
          [limits](const Config& c) {
            return c.at("warps_m") * c.at("warps_n") * kWarpThreads * c.at("min_blocks") <= limits.threads_per_sm;
          }},
      {"block tile", "tiles above 256x256 leave most SMs idle on any problem they fit",
          [type, trans](const Config& c) {
            const Geometry g(c, type, trans);
            return g.block_m <= 256 && g.block_n <= 256;
          }},
      {"shared memory",
          "the stages and the epilogue's scratch must fit the shared memory of a block, and of an SM for "
          "all resident blocks (1 KiB of each is the system's)",
          [type, trans, limits](const Config& c) {
            const std::int64_t bytes = Geometry(c, type, trans).smem_bytes;
            return bytes <= limits.smem_per_block_bytes &&
                   (bytes + 1024) * c.at("min_blocks") <= limits.smem_per_sm_bytes;
          }},
      {"narrow copies",
          "cp.async moves 4, 8 or 16 bytes; narrower copies are plain loads, which gain nothing from more "
          "than two stages",
          [](const Config& c) { return c.at("copy_bytes") >= 4 || c.at("stages") <= 2; }},
      {"rows of a tile", "a row of a tile in shared memory must split into whole copies",
          [type, trans](const Config& c) {
            const Geometry g(c, type, trans);
            const int copy = c.at("copy_bytes"), element = int(size_bytes(type.a));
            const int a = trans.a ? g.block_m : c.at("block_k"), b = trans.b ? c.at("block_k") : g.block_n;
            return a * element % copy == 0 && b * element % copy == 0;
          }},
      {"copies of a thread",
          "a K-step that gives most threads nothing to copy wastes them; more than 32 copies a thread spill",
          [type, trans, staged](const Config& c) {
            if (!staged(c)) return true;
            const Geometry g(c, type, trans);
            const std::int64_t bytes =
                std::int64_t(g.block_m + g.block_n) * c.at("block_k") * std::int64_t(size_bytes(type.a));
            const std::int64_t copies = bytes / c.at("copy_bytes"), threads = g.warps * kWarpThreads;
            return copies >= threads && copies <= 32 * threads;
          }},
  };
}

Geometry::Geometry(const Config& config, const TypePair& type, Transposes trans) {
  const int operand = int(size_bytes(type.a));
  const int accumulator = int(size_bytes(type.accumulator));
  const int frag_m = config.at("frag_m"), frag_n = config.at("frag_n");
  const int frags_m = config.at("frags_m"), frags_n = config.at("frags_n");
  const int block_k = config.at("block_k"), stages = config.at("stages");
  frag_k = operand == 8 ? 4 : operand == 4 ? 8 : 16;
  warps = config.at("warps_m") * config.at("warps_n");
  block_m = frag_m * frags_m * config.at("warps_m");
  block_n = frag_n * frags_n * config.at("warps_n");

  const int pad = config.at("pad_bytes");
  const auto tile_bytes = [&](bool transposed, int rows, int cols) {
    return transposed ? std::int64_t(cols) * (rows * operand + pad) : std::int64_t(rows) * (cols * operand + pad);
  };
  const std::int64_t stage_bytes = tile_bytes(trans.a, block_m, block_k) + tile_bytes(trans.b, block_k, block_n);
  const std::int64_t scratch_row_bytes = frag_m * (std::int64_t(frag_n) * frags_n * accumulator + 16);
  const std::int64_t operand_fragment_bytes = std::int64_t(std::max(frag_m, frag_n)) * frag_k * operand;
  const std::int64_t scratch_bytes = warps * std::max(scratch_row_bytes, operand_fragment_bytes);
  smem_bytes = std::max(stages * stage_bytes, scratch_bytes);

  accumulator_registers = frag_m * frag_n * frags_m * frags_n * accumulator / 4 / kWarpThreads;
  // Fragments of A and B hold their elements twice in some layouts; counted once, as a lower bound.
  operand_registers =
      config.at("frag_buffers") * (frag_m * frags_m + frag_n * frags_n) * frag_k * operand / 4 / kWarpThreads;
}

}  // namespace tilesmith::wmma
