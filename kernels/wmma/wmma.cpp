#include "kernels/wmma/wmma.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "kernels/families/render.hpp"
#include "kernels/problem/sub_byte.hpp"

namespace tilesmith {
namespace {

using wmma::Geometry;
using wmma::kWarpThreads;

class Wmma final : public Family {
 public:
  std::string_view name() const override { return "wmma"; }
  std::string_view summary() const override {
    return "tensor cores through nvcuda::wmma, straight from global memory or staged in shared memory";
  }

  bool supports(const KernelTarget& target) const override { return wmma::supports(target); }
  std::vector<Parameter> parameters(const KernelTarget& target) const override { return wmma::parameters(target); }
  std::vector<Rule> rules(const KernelTarget& target) const override { return wmma::rules(target); }
  std::vector<NamedConfig> ladder(const KernelTarget& target) const override { return wmma::ladder(target); }
  std::vector<Config> initial_configs(const KernelTarget& target) const override {
    return wmma::initial_configs(target);
  }

  std::optional<std::string> refusal(const Config& config, const Problem& problem) const override;

  LaunchSequence launches(const Config& config, const Problem& problem) const override {
    if (is_sub_byte(problem.type.a)) return wmma::sub_byte_launches(config, problem);
    const Geometry geometry(config, problem.type, problem.trans);
    const std::int64_t tiles = ((problem.m - 1) / geometry.block_m + 1) * ((problem.n - 1) / geometry.block_n + 1);
    Launch launch;
    launch.grid.x = unsigned(tiles);
    launch.block.x = unsigned(geometry.warps * kWarpThreads);
    launch.dynamic_smem_bytes = std::size_t(geometry.smem_bytes);
    launch.a.row_stride = problem.lda;
    launch.b.row_stride = problem.ldb;
    launch.d.row_stride = problem.ldc;
    return {{launch}, 0};
  }

  std::string source(const Config& config, const KernelTarget& target) const override {
    return render_source(
        config, target, is_sub_byte(target.type.a) ? "kernels/wmma/sub_byte.cu" : "kernels/wmma/wmma.cu");
  }
};

std::optional<std::string> Wmma::refusal(const Config& config, const Problem& problem) const {
  if (is_sub_byte(problem.type.a)) {
    return problem.m / 8 * (problem.n / 8) > std::numeric_limits<int>::max() / 2
               ? std::optional<std::string>("more tiles of C than a grid has blocks")
               : std::nullopt;
  }
  const bool staged = config.at("stages") > 0;
  // Straight from global memory, load_matrix_sync wants rows that start at 16-byte steps.
  const int wanted = staged ? config.at("copy_bytes") : 16;
  const int align_a = row_align_bytes(problem, problem.type.a, problem.lda);
  const int align_b = row_align_bytes(problem, problem.type.b, problem.ldb);
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

}  // namespace

std::unique_ptr<Family> make_wmma() { return std::make_unique<Wmma>(); }

}  // namespace tilesmith
