#include "kernels/wmma/wmma.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "kernels/render.hpp"

namespace tilesmith {
namespace {

constexpr int kWarpThreads = 32;

/// What the template derives from its constants, derived here from the config: names as in wmma.cu.
struct Geometry {
  int frag_k, warps, block_m, block_n;
  std::int64_t smem_bytes;
  int accumulator_registers, operand_registers;  // a thread

  Geometry(const Config& config, const TypePair& type, Transposes trans) {
    const int operand = int(size_bytes(type.operand));
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
    operand_registers = config.at("frag_buffers") * (frag_m * frags_m + frag_n * frags_n) * frag_k * operand / 4 /
                        kWarpThreads;
  }
};

std::vector<int> fragment_sizes(const TypePair& type) {
  if (type.operand == Scalar::f64) return {8};
  if (type.operand == Scalar::tf32) return {16};
  return {8, 16, 32};
}

std::vector<int> k_steps(const TypePair& type) {
  switch (size_bytes(type.operand)) {
    case 1: return {16, 32, 64, 128};
    case 2: return {16, 32, 64};
    case 4: return {8, 16, 32};
    default: return {4, 8, 16, 32};
  }
}

std::vector<int> copy_widths(const TypePair& type) {
  switch (size_bytes(type.operand)) {
    case 1: return {1, 4, 8, 16};
    case 2: return {2, 4, 8, 16};
    case 4: return {4, 8, 16};
    default: return {8, 16};
  }
}

class Wmma final : public Family {
 public:
  std::string_view name() const override { return "wmma"; }
  std::string_view summary() const override {
    return "tensor cores through nvcuda::wmma, straight from global memory or staged in shared memory";
  }

  bool supports(const KernelTarget& target) const override {
    if (target.limits.sm < 80) return false;
    switch (target.type.operand) {
      case Scalar::f16:
      case Scalar::bf16:
      case Scalar::tf32:
      case Scalar::s8:
      case Scalar::u8:
      case Scalar::f64: return target.type.accumulator == target.type.output;
      default: return false;
    }
  }

  std::vector<Parameter> parameters(const KernelTarget& target) const override {
    const TypePair& type = target.type;
    // f64's fragments are a quarter of the others' size: twice as many along each side make the same tile.
    const std::vector<int> multiples_m = type.operand == Scalar::f64 ? std::vector{1, 2, 4, 8} : std::vector{1, 2, 4};
    return {
        {"frag_m", fragment_sizes(type), "rows of a WMMA fragment of C"},
        {"frag_n", fragment_sizes(type), "columns of a WMMA fragment of C"},
        {"warps_m", {1, 2, 4}, "warps of a block along M"},
        {"warps_n", {1, 2, 4}, "warps of a block along N"},
        {"frags_m", multiples_m, "fragments of a warp along M (the block tile's multiple)"},
        {"frags_n", {1, 2, 4, 8}, "fragments of a warp along N (the block tile's multiple)"},
        {"block_k", k_steps(type), "K-step: elements of K staged, or loaded, at a time"},
        {"stages", {0, 1, 2, 3, 4}, "0: operands straight from global memory; 1: staged in shared memory; 2 to 4: "
                                    "that many buffers, filled ahead by cp.async"},
        {"frag_buffers", {1, 2}, "slabs of fragments in registers: 2 loads the next while one is multiplied"},
        {"pad_bytes", {0, 16}, "padding of a row in shared memory, against bank conflicts"},
        {"copy_bytes", copy_widths(type), "width of a copy from global to shared memory"},
        {"group_m", {1, 8}, "tile rows walked together, so that running blocks share operands in the L2"},
        {"min_blocks", {1, 2}, "blocks an SM must have room for: 2 makes the compiler use at most half the registers"},
        {"store_direct", {0, 1}, "1: whole fragments of C stored from registers; 0: through shared memory, with wide "
                                 "stores"},
    };
  }

  std::vector<Rule> rules(const KernelTarget& target) const override;
  std::optional<std::string> refusal(const Config& config, const Problem& problem) const override;

  LaunchSequence launches(const Config& config, const Problem& problem) const override {
    const Geometry geometry(config, problem.type, problem.trans);
    const std::int64_t tiles = ((problem.m - 1) / geometry.block_m + 1) * ((problem.n - 1) / geometry.block_n + 1);
    Launch launch;
    launch.grid.x = unsigned(tiles);
    launch.block.x = unsigned(geometry.warps * kWarpThreads);
    launch.dynamic_smem_bytes = std::size_t(geometry.smem_bytes);
    launch.a.row_stride = problem.lda;
    launch.b.row_stride = problem.ldb;
    launch.c.row_stride = problem.ldc;
    return {{launch}, 0};
  }

  std::string source(const Config& config, const KernelTarget& target) const override {
    return render_source(config, target, "kernels/wmma/wmma.cu");
  }

  std::vector<NamedConfig> ladder(const KernelTarget& target) const override;
  std::vector<Config> seeds(const KernelTarget& target) const override;
};

std::vector<Rule> Wmma::rules(const KernelTarget& target) const {
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
       [type](const Config& c) {
         return type.operand == Scalar::f64 || c.at("frag_m") * c.at("frag_n") == 256;
       }},
      {"unused without staging", "straight from global memory there is no tile to pad, to copy or to step by, and no "
                                 "reason to hold the compiler to fewer registers",
       [staged, min_k_step](const Config& c) {
         return staged(c) || (c.at("pad_bytes") == 0 && c.at("copy_bytes") == 16 && c.at("block_k") == min_k_step &&
                              c.at("min_blocks") == 1);
       }},
      {"padding", "rows of shared memory are powers of two long: without padding a fragment's rows start in the same banks",
       [staged](const Config& c) { return !staged(c) || c.at("pad_bytes") > 0; }},
      {"fragment buffers", "loading ahead needs an asynchronous pipeline to run into, and an even number of slabs a K-step",
       [type, trans](const Config& c) {
         if (c.at("frag_buffers") == 1) return true;
         return c.at("stages") >= 2 && (c.at("block_k") / Geometry(c, type, trans).frag_k) % 2 == 0;
       }},
      {"registers of a thread", "accumulators and operand fragments beyond about 220 registers spill",
       [type, trans](const Config& c) {
         const Geometry g(c, type, trans);
         return g.accumulator_registers + g.operand_registers <= 220;
       }},
      {"registers of an SM", "the resident blocks' accumulators and fragments must fit the register file beside addresses",
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
      {"shared memory", "the stages and the epilogue's scratch must fit the shared memory of a block, and of an SM for "
                        "all resident blocks (1 KiB of each is the system's)",
       [type, trans, limits](const Config& c) {
         const std::int64_t bytes = Geometry(c, type, trans).smem_bytes;
         return bytes <= limits.smem_per_block_bytes && (bytes + 1024) * c.at("min_blocks") <= limits.smem_per_sm_bytes;
       }},
      {"narrow copies", "cp.async moves 4, 8 or 16 bytes; narrower copies are plain loads, which gain nothing from more "
                        "than two stages",
       [](const Config& c) { return c.at("copy_bytes") >= 4 || c.at("stages") <= 2; }},
      {"copies of a thread", "a K-step that gives most threads nothing to copy wastes them; more than 32 copies a thread spill",
       [type, trans, staged](const Config& c) {
         if (!staged(c)) return true;
         const Geometry g(c, type, trans);
         const std::int64_t bytes =
             std::int64_t(g.block_m + g.block_n) * c.at("block_k") * std::int64_t(size_bytes(type.operand));
         const std::int64_t copies = bytes / c.at("copy_bytes"), threads = g.warps * kWarpThreads;
         return copies >= threads && copies <= 32 * threads;
       }},
  };
}

std::optional<std::string> Wmma::refusal(const Config& config, const Problem& problem) const {
  const bool staged = config.at("stages") > 0;
  // Straight from global memory, load_matrix_sync wants rows that start at 16-byte steps.
  const int wanted = staged ? config.at("copy_bytes") : 16;
  const int align_a = row_align_bytes(problem, problem.type.operand, problem.lda);
  const int align_b = row_align_bytes(problem, problem.type.operand, problem.ldb);
  if (std::min(align_a, align_b) < wanted) {
    return fmt::format("rows of A and B are aligned to {} and {} bytes; {} {} bytes", align_a, align_b,
                       staged ? "copies take" : "fragments straight from global memory take", wanted);
  }
  if (config.at("store_direct") == 1) {
    const int align_c = row_align_bytes(problem, problem.type.output, problem.ldc);
    if (align_c < 16) return fmt::format("rows of C are aligned to {} bytes; direct stores take 16 bytes", align_c);
  }
  const Geometry geometry(config, problem.type, problem.trans);
  const std::int64_t tiles_m = problem.m / geometry.block_m + 1, tiles_n = problem.n / geometry.block_n + 1;
  if (tiles_m * tiles_n > std::numeric_limits<int>::max()) return "more tiles of C than a grid has blocks";
  return std::nullopt;
}

/// Values in the order of the parameters.
Config make_config(int frag_m, int frag_n, int warps_m, int warps_n, int frags_m, int frags_n, int block_k, int stages,
                   int pad_bytes, int group_m, int store_direct, int min_blocks = 1, int frag_buffers = 1) {
  return Config("wmma", {{"frag_m", frag_m},
                         {"frag_n", frag_n},
                         {"warps_m", warps_m},
                         {"warps_n", warps_n},
                         {"frags_m", frags_m},
                         {"frags_n", frags_n},
                         {"block_k", block_k},
                         {"stages", stages},
                         {"frag_buffers", frag_buffers},
                         {"pad_bytes", pad_bytes},
                         {"copy_bytes", 16},
                         {"group_m", group_m},
                         {"min_blocks", min_blocks},
                         {"store_direct", store_direct}});
}

std::vector<NamedConfig> Wmma::ladder(const KernelTarget& target) const {
  if (!supports(target)) return {};
  const int frag = fragment_sizes(target.type).size() == 1 ? fragment_sizes(target.type).front() : 16;
  const int scale = 16 / frag;  // f64's fragments are 8x8: twice as many a warp make the same tile
  const int straight_k = k_steps(target.type).front();
  const int staged_k = 64 / int(size_bytes(target.type.operand));  // 32 elements of 16 bits
  std::vector<NamedConfig> rungs{
      {"one warp, one 16x16 tile", make_config(frag, frag, 1, 1, scale, scale, straight_k, 0, 0, 1, 1)},
      {"4x4 warps, one 16x16 tile each", make_config(frag, frag, 4, 4, scale, scale, straight_k, 0, 0, 1, 1)},
      {"64x64, 4 warps", make_config(frag, frag, 2, 2, 2 * scale, 2 * scale, straight_k, 0, 0, 1, 1)},
      {"128x128, 8 warps", make_config(frag, frag, 2, 4, 4 * scale, 2 * scale, straight_k, 0, 0, 1, 1)},
      {"shared memory, 128x128x32", make_config(frag, frag, 2, 4, 4 * scale, 2 * scale, staged_k, 1, 16, 1, 1, 2)},
      {"shared memory, double-buffered", make_config(frag, frag, 2, 4, 4 * scale, 2 * scale, staged_k, 2, 16, 1, 1, 2)},
  };
  // Two blocks on an SM hide each other's barriers; where the registers or the shared memory of two do not fit, one.
  for (NamedConfig& rung : rungs) {
    if (illegal_because(*this, rung.config, target)) rung.config.set("min_blocks", 1);
  }
  return rungs;
}

std::vector<Config> Wmma::seeds(const KernelTarget& target) const {
  if (!supports(target)) return {};
  const int frag = fragment_sizes(target.type).size() == 1 ? fragment_sizes(target.type).front() : 16;
  const int bytes = int(size_bytes(target.type.operand));
  const int scale = frag == 8 ? 2 : 1;
  std::vector<Config> guesses;
  // {warps_m, warps_n, frags_m, frags_n, min_blocks}: 128x128, 128x256, 256x128, 64x64
  const int tiles[][5] = {{2, 2, 4, 4, 2}, {2, 4, 4, 4, 1}, {4, 2, 4, 4, 1}, {2, 2, 2, 2, 2}};
  for (int k_bytes : {64, 128}) {
    for (int stages : {3, 4, 2}) {
      for (const auto& t : tiles) {
        for (int frag_buffers : {2, 1}) {
          guesses.push_back(make_config(frag, frag, t[0], t[1], t[2] * scale, t[3] * scale, k_bytes / bytes, stages, 16, 8, 0,
                                        t[4], frag_buffers));
        }
      }
    }
  }
  // The same with narrower copies, for problems whose rows are not aligned to 16 bytes.
  std::vector<Config> all = guesses;
  for (int copy : copy_widths(target.type)) {
    if (copy == 16) continue;
    for (Config config : guesses) {
      if (copy < 4 && config.at("stages") > 2) continue;
      config.set("copy_bytes", copy);
      all.push_back(config);
    }
  }
  std::erase_if(all, [&](const Config& config) { return illegal_because(*this, config, target).has_value(); });
  return all;
}

}  // namespace

std::unique_ptr<Family> make_wmma() { return std::make_unique<Wmma>(); }

}  // namespace tilesmith
