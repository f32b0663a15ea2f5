#include "kernels/ffma/ffma.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "kernels/families/passes.hpp"

namespace tilesmith {
namespace {

using ffma::Geometry;

constexpr int kAnyAlign = 16;  // bytes: the widest copy

/// How far the rows are aligned that are copied in pieces of copy_bytes; kAnyAlign where there are none.
int copied_align(const Problem& problem) {
  const auto [a, b] = tensor_core::operand_aligns(problem);
  return std::min(
      {kAnyAlign, ffma::a_along_k(problem.trans) ? kAnyAlign : a, ffma::b_along_k(problem.trans) ? kAnyAlign : b});
}

class Ffma final : public Family {
 public:
  std::string_view name() const override { return "ffma"; }
  std::string_view summary() const override {
    return "f32 by FMA on CUDA cores: register tiles, multistage pipelines, sliced and split K";
  }

  bool supports(const KernelTarget& target) const override { return ffma::supports(target); }
  std::vector<Parameter> parameters(const KernelTarget& target) const override { return ffma::parameters(target); }
  std::vector<Rule> rules(const KernelTarget& target) const override { return ffma::rules(target); }
  std::optional<Estimate> estimate(
      const Config& config, const KernelTarget& target, const Problem& problem) const override {
    return ffma::estimate(config, target, problem);
  }
  std::vector<Config> initial_configs(const KernelTarget& target, const Problem& problem) const override {
    return ffma::initial_configs(target, problem);
  }

  std::optional<std::string> refusal(const Config& config, const Problem& problem) const override;
  std::optional<std::string> dominated(const Config& config, const Problem& problem) const override;
  LaunchSequence launches(const Config& config, const Problem& problem) const override;

  std::string source(const Config& config, const KernelTarget& target) const override {
    return tensor_core::source_with_passes(config, target, "kernels/ffma/ffma.cu");
  }

  bool deterministic(const Config& config) const override { return tensor_core::deterministic(config); }
};

std::optional<std::string> Ffma::refusal(const Config& config, const Problem& problem) const {
  const int copy = config.at("copy_bytes");
  if (const int align = copied_align(problem); align < copy)
    return fmt::format("rows that lie along M or N are aligned to {} bytes; copies take {} bytes", align, copy);
  const auto reaches = [](bool along_k, std::int64_t rows, std::int64_t ld) {
    return along_k && ld > std::numeric_limits<int>::max() / rows;
  };
  if (reaches(ffma::a_along_k(problem.trans), config.at("block_m"), problem.lda) ||
      reaches(ffma::b_along_k(problem.trans), config.at("block_n"), problem.ldb))
    return "rows of A or B are so far apart that what those of a tile span is not counted in 32 bits";
  if (Geometry(config, problem.trans).tiles(problem) * config.at("split_k") > std::numeric_limits<int>::max())
    return "more tiles of C than a grid has blocks";
  return std::nullopt;
}

std::optional<std::string> Ffma::dominated(const Config& config, const Problem& problem) const {
  const int copy = config.at("copy_bytes"), align = copied_align(problem);
  if ((ffma::a_along_k(problem.trans) && ffma::b_along_k(problem.trans)) || copy >= align) return std::nullopt;
  return fmt::format(
      "rows are aligned to {} bytes: copies of {} are the same kernel with more instructions", align, copy);
}

LaunchSequence Ffma::launches(const Config& config, const Problem& problem) const {
  const Geometry geometry(config, problem.trans);
  Launch gemm;
  gemm.grid.x = unsigned(geometry.tiles(problem) * config.at("split_k"));
  gemm.block.x = unsigned(geometry.threads);
  gemm.dynamic_smem_bytes = std::size_t(geometry.smem_bytes);
  return tensor_core::with_passes(gemm, config, problem, config.at("overlap") == 1);
}

}  // namespace

std::unique_ptr<Family> make_ffma() { return std::make_unique<Ffma>(); }

}  // namespace tilesmith
