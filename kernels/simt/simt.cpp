#include "kernels/simt/simt.hpp"

#include <algorithm>
#include <limits>

#include "kernels/families/render.hpp"
#include "kernels/problem/sparsity.hpp"
#include "kernels/problem/sub_byte.hpp"
#include "kernels/problem/weights.hpp"

namespace tilesmith {
namespace {

using simt::Geometry;
using simt::shares_blocks;

/// Of signatures with weights those that problems may have (weights_error()).
bool takes_its_weights(const KernelSignature& signature) {
  return takes_weights(signature.type, signature.weights) && signature.trans.b &&
         (signature.batch_mode == BatchMode::single || signature.batch_mode == BatchMode::grouped) &&
         signature.scalars == Scalars::host;
}

class Simt final : public Family {
 public:
  std::string_view name() const override { return "simt"; }
  std::string_view summary() const override {
    return "FMA and dp4a on CUDA cores: any type pair, layout, leading dimension and alignment";
  }

  bool supports(const KernelTarget& target) const override {
    const KernelSignature numbers = without_block_scales(without_sparsity(target));
    return is_plain_but_epilogue_and_batch(without_weights(numbers)) &&
           (!has_weights(target) || takes_its_weights(target));
  }

  std::vector<Parameter> parameters(const KernelTarget& target) const override {
    std::vector<int> extents{16, 32, 64, 128};
    if (shares_blocks(target)) extents.insert(extents.begin(), 8);
    std::vector<Parameter> all{
        {"block_m", extents, "rows of C a block computes"},
        {"block_n", extents, "columns of C a block computes"},
        {"block_k", is_bit(target.type.a) ? std::vector{64, 128, 256} : std::vector{8, 16, 32},
            "K-step: elements of K in shared memory at a time"},
        {"thread_m", {1, 2, 4, 8}, "rows of C a thread computes"},
        {"thread_n", {1, 2, 4, 8}, "columns of C a thread computes"},
    };
    if (shares_blocks(target))
      all.push_back({"entries", {1, 2, 4, 8, 16},
          "neighbouring entries of a batch that share a block, each with threads of its own"});
    return all;
  }

  std::vector<Rule> rules(const KernelTarget& target) const override {
    const TypePair type = simt::multiplied_as(target);
    const DeviceLimits limits = target.limits;
    const bool gated = target.epilogue.is_gated();
    return {
        {"pairs of columns", "of a gated pair of columns one thread has both",
            [gated](const Config& c) { return !gated || c.at("thread_n") % 2 == 0; }},
        {"threads", "a block has 32 to 512 threads: fewer cannot fill a warp, more leave each too few registers",
            [type](const Config& c) {
              const Geometry g(c, type);
              const int threads = g.threads * g.entries;
              return threads >= 32 && threads <= 512;
            }},
        {"static shared memory", "a kernel's static shared memory is at most 48 KiB",
            [type](const Config& c) { return Geometry(c, type).smem_bytes <= 48 * 1024; }},
        {"registers", "sums and operands of a thread must fit its registers beside addresses",
            [type, limits](const Config& c) {
              const Geometry g(c, type);
              return g.registers <= 200 && (g.registers + 32) * g.threads * g.entries <= limits.registers_per_sm;
            }},
    };
  }

  std::optional<std::string> refusal(const Config& config, const Problem& problem) const override {
    const std::int64_t rows = problem.batch_mode == BatchMode::grouped ? most_tile_rows(problem, config.at("block_m"))
                                                                       : problem.m / config.at("block_m") + 1;
    const std::int64_t tiles = rows * (problem.n / config.at("block_n") + 1);
    if (tiles > std::numeric_limits<int>::max()) return "more tiles of C than a grid has blocks";
    return std::nullopt;
  }

  LaunchSequence launches(const Config& config, const Problem& problem) const override {
    Launch launch;
    const bool grouped = problem.batch_mode == BatchMode::grouped;
    const std::int64_t rows =
        grouped ? most_tile_rows(problem, config.at("block_m")) : (problem.m - 1) / config.at("block_m") + 1;
    launch.grid.x = unsigned(rows * ((problem.n - 1) / config.at("block_n") + 1));
    const Geometry g(config, problem.type);
    launch.block.x = unsigned(g.threads);
    launch.block.y = unsigned(g.entries);
    const Problem addressed = strides_in_bytes(problem);
    take_strides(launch, addressed);
    if (!grouped) add_entries(launch.grid, (problem.batch - 1) / g.entries + 1);
    return {{launch}, 0};
  }

  std::string source(const Config& config, const KernelTarget& target) const override {
    return render_source(config, target, "kernels/simt/simt.cu", block_scale_constants(target));
  }

  std::optional<Estimate> estimate(
      const Config& config, const KernelTarget& target, const Problem& problem) const override {
    return simt::estimate(config, target, problem);
  }

  /// Of batches what is estimated to take shortest, then what serves any.
  std::vector<Config> initial_configs(const KernelTarget& target, const Problem& problem) const override {
    std::vector<Config> all;
    if (shares_blocks(target)) all = simt::initial_configs(target, problem, rules(target));
    for (Config& config : initial_configs(target)) {
      if (std::ranges::find(all, config) == all.end()) all.push_back(std::move(config));
    }
    return all;
  }

  std::vector<Config> initial_configs(const KernelTarget& target) const override {
    std::vector<Config> all{simt_generic_config(target)};
    if (!shares_blocks(target)) return all;
    // Whole small entries: what was fastest on an H100 (docs/notes/batches.md).
    const int of_step = is_bit(target.type.a) ? 8 : 1;
    const auto small = [&](int extent, int block_k, int thread_m, int thread_n, int entries) {
      all.push_back(Config("simt", {{"block_m", extent}, {"block_n", extent}, {"block_k", block_k * of_step},
                                       {"thread_m", thread_m}, {"thread_n", thread_n}, {"entries", entries}}));
    };
    small(8, 8, 4, 2, 16);
    small(16, 8, 4, 2, 2);
    small(32, 16, 4, 4, 4);
    return all;
  }
};

}  // namespace

std::unique_ptr<Family> make_simt() { return std::make_unique<Simt>(); }

Config simt_generic_config(const KernelTarget& target) {
  Config config("simt", {{"block_m", 64}, {"block_n", 64}, {"block_k", is_bit(target.type.a) ? 128 : 16},
                            {"thread_m", 4}, {"thread_n", 4}});
  if (shares_blocks(target)) config.set("entries", 1);
  return config;
}

}  // namespace tilesmith
