#include "kernels/dequant/dequant.hpp"

#include <fmt/format.h>

#include <limits>

#include "kernels/families/render.hpp"
#include "kernels/problem/weights.hpp"

namespace tilesmith {
namespace {

using dequant::Geometry;
using dequant::has_second_launch;

constexpr std::int64_t kPassThreads = 256;  // as in store.cuh
constexpr int kCopyBytes = 16;
constexpr std::int64_t kMostColumns = std::int64_t{1} << 25;

class Dequant final : public Family {
 public:
  std::string_view name() const override { return "dequant"; }
  std::string_view summary() const override {
    return "B as weights of 4 or 8 bits: read once as they lie, made numbers in registers, multiplied by mma.sync";
  }

  bool supports(const KernelTarget& target) const override {
    const bool in_reach = target.batch_mode == BatchMode::single || target.batch_mode == BatchMode::grouped;
    const Scalar a = target.type.a;
    const bool has_product = size_bytes(a) == 2 ||
                             (takes_weights(target.type, target.weights) && (!is_fp8(a) || target.limits.features.fp8));
    return has_weights(target) && has_product && in_reach && is_plain_but_epilogue_and_batch(without_weights(target)) &&
           target.scalars == Scalars::host && !target.trans.a && target.trans.b;
  }
  std::vector<Parameter> parameters(const KernelTarget& target) const override { return dequant::parameters(target); }
  std::vector<Rule> rules(const KernelTarget& target) const override { return dequant::rules(target); }
  std::optional<Estimate> estimate(
      const Config& config, const KernelTarget& target, const Problem& problem) const override {
    return dequant::estimate(config, target, problem);
  }
  std::vector<Config> initial_configs(const KernelTarget& target) const override {
    return initial_configs(target, ordinary_problem(target));
  }
  std::vector<Config> initial_configs(const KernelTarget& target, const Problem& problem) const override {
    return supports(target) ? dequant::initial_configs(target, problem) : std::vector<Config>{};
  }

  std::optional<std::string> refusal(const Config& config, const Problem& problem) const override;
  LaunchSequence launches(const Config& config, const Problem& problem) const override;

  std::string source(const Config& config, const KernelTarget& target) const override {
    return render_source(config, target, "kernels/dequant/dequant.cu");
  }
};

std::optional<std::string> Dequant::refusal(const Config& config, const Problem& problem) const {
  if (const int align = a_align_bytes(problem); align < kCopyBytes)
    return fmt::format("rows of A are aligned to {} bytes; it is copied by {} bytes", align, kCopyBytes);
  if (problem.n % 2 != 0 && size_bytes(weight_scale_element(problem)) <= 2)
    return fmt::format("N is {}: rows of scales of 16 bits are copied by 4 bytes", problem.n);
  if (row_of(problem.epilogue.activation).gate == Gate::halves && problem.n / 2 % kCodeBlockRows != 0)
    return fmt::format("half of N is {}: both halves of a gate begin with {} rows of weights that lie in one block",
        problem.n / 2, kCodeBlockRows);
  if (problem.k > kMostColumns || problem.lda > kMostColumns)
    return fmt::format("K or lda is beyond {}: bytes of a row are counted in 32 bits", kMostColumns);
  const Geometry geometry(config, problem);
  if (geometry.tiles(config, problem) * config.at("split_k") > std::numeric_limits<int>::max())
    return "more tiles of D than a grid has blocks";
  return std::nullopt;
}

LaunchSequence Dequant::launches(const Config& config, const Problem& problem) const {
  const Geometry geometry(config, problem);
  const int split_k = config.at("split_k");
  LaunchSequence sequence;

  Launch gemm;
  gemm.grid.x = unsigned(geometry.tiles(config, problem) * split_k);
  gemm.block.x = unsigned(geometry.threads);
  if (config.at("cluster") == 1) gemm.cluster.x = unsigned(split_k);
  gemm.dynamic_smem_bytes = std::size_t(geometry.smem_bytes);
  gemm.a.row_stride = problem.lda;
  gemm.b.row_stride = problem.ldb;
  gemm.b.entry_stride = problem.stride_b;
  gemm.d.row_stride = problem.ldc;
  gemm.overlaps_previous = config.at("early_launch") == 1;
  sequence.launches.push_back(gemm);

  if (has_second_launch(config)) {
    const std::int64_t elements = problem.m * problem.n;
    sequence.workspace_bytes = std::size_t(split_k * elements) * sizeof(float);
    Launch sum = gemm;
    sum.entry = "sum_slices";
    sum.grid = {unsigned((elements + kPassThreads - 1) / kPassThreads), 1, 1};
    sum.block = {unsigned(kPassThreads), 1, 1};
    sum.dynamic_smem_bytes = 0;
    sum.overlaps_previous = config.at("overlap") == 1;
    sequence.launches.push_back(sum);
  }
  return sequence;
}

}  // namespace

std::unique_ptr<Family> make_dequant() { return std::make_unique<Dequant>(); }

}  // namespace tilesmith
