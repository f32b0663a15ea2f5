#include "kernels/gemv/gemv.hpp"

#include <fmt/format.h>

#include <limits>

#include "kernels/families/render.hpp"
#include "kernels/problem/sub_byte.hpp"

namespace tilesmith {
namespace {

using gemv::Geometry;
using gemv::has_second_launch;
using gemv::kChunkBytes;

constexpr unsigned kPassThreads = 256;  // as in store.cuh

std::int64_t outputs_of(const Config& config, const Problem& problem) {
  return config.at("matrix") == 1 ? problem.n : problem.m;
}

std::int64_t matrix_ld(const Config& config, const Problem& problem) {
  return config.at("matrix") == 1 ? problem.ldb : problem.lda;
}

/// Of its rows in all entries of a batch.
int matrix_align_bytes(const Config& config, const Problem& problem) {
  return config.at("matrix") == 1 ? b_align_bytes(problem) : a_align_bytes(problem);
}

/// As shift_period() in task.cuh: after how many rows the distance to the last 16-byte step comes again.
std::int64_t shift_period(const Config& config, const Problem& problem, bool along) {
  if (config.at("shifted") == 0 || !along) return 1;
  const std::int64_t row_bytes = matrix_ld(config, problem) * std::int64_t(size_bytes(problem.type.a)) % kChunkBytes;
  return row_bytes == 0 ? 1 : kChunkBytes / (row_bytes & -row_bytes);
}

std::int64_t blocks(const Config& config, const Problem& problem) {
  const Geometry geometry(config, problem.type, problem.trans);
  const std::int64_t period = shift_period(config, problem, geometry.along);
  const std::int64_t rows_of_a_shift = (outputs_of(config, problem) + period - 1) / period;
  return (rows_of_a_shift + geometry.outputs - 1) / geometry.outputs * period * config.at("split_k");
}

class Gemv final : public Family {
 public:
  std::string_view name() const override { return "gemv"; }
  std::string_view summary() const override {
    return "M = 1 or N = 1 at the speed of memory: 16-byte loads of one operand at any alignment, split K in clusters";
  }

  bool supports(const KernelTarget& target) const override {
    return is_plain_but_epilogue_and_batch(target) && target.batch_mode != BatchMode::grouped &&
           !target.epilogue.is_gated() && !is_fp8(target.type.a) && target.type.a != Scalar::f32x3 &&
           !is_sub_byte(target.type.a);
  }
  std::vector<Parameter> parameters(const KernelTarget& target) const override { return gemv::parameters(target); }
  std::vector<Rule> rules(const KernelTarget& target) const override { return gemv::rules(target); }
  std::optional<Estimate> estimate(
      const Config& config, const KernelTarget& target, const Problem& problem) const override {
    return gemv::estimate(config, target, problem);
  }
  std::vector<Config> initial_configs(const KernelTarget& target, const Problem&) const override {
    return supports(target) ? gemv::initial_configs(target) : std::vector<Config>{};
  }

  std::optional<std::string> refusal(const Config& config, const Problem& problem) const override;
  std::optional<std::string> dominated(const Config& config, const Problem& problem) const override;
  LaunchSequence launches(const Config& config, const Problem& problem) const override;

  std::string source(const Config& config, const KernelTarget& target) const override {
    return render_source(config, target, "kernels/gemv/gemv.cu");
  }
};

std::optional<std::string> Gemv::refusal(const Config& config, const Problem& problem) const {
  const bool matrix_is_b = config.at("matrix") == 1;
  if (matrix_is_b && problem.m != 1) return fmt::format("M is {}: where the matrix is B, M must be 1", problem.m);
  if (!matrix_is_b && problem.n != 1) return fmt::format("N is {}: where the matrix is A, N must be 1", problem.n);
  const int align = matrix_align_bytes(config, problem);
  if (config.at("shifted") == 0 && align < kChunkBytes) {
    return fmt::format("rows of {} are aligned to {} bytes; unshifted chunks take {} bytes", matrix_is_b ? 'B' : 'A',
        align, kChunkBytes);
  }
  if (blocks(config, problem) > std::numeric_limits<int>::max()) return "more tiles of C than a grid has blocks";
  return std::nullopt;
}

std::optional<std::string> Gemv::dominated(const Config& config, const Problem& problem) const {
  const int align = matrix_align_bytes(config, problem);
  if (config.at("shifted") == 1 && align >= kChunkBytes)
    return "the matrix's rows are aligned: there is nothing to shift";
  return std::nullopt;
}

LaunchSequence Gemv::launches(const Config& config, const Problem& problem) const {
  const Geometry geometry(config, problem.type, problem.trans);
  const int split_k = config.at("split_k");
  LaunchSequence sequence;

  Launch gemm;
  gemm.grid.x = unsigned(blocks(config, problem));
  gemm.block.x = unsigned(config.at("threads"));
  if (config.at("cluster") == 1) gemm.cluster.x = unsigned(split_k);
  gemm.dynamic_smem_bytes = std::size_t(geometry.smem_bytes);
  take_strides(gemm, problem);
  gemm.overlaps_previous = config.at("early_launch") == 1;
  add_entries(gemm.grid, problem.batch);
  sequence.launches.push_back(gemm);

  if (has_second_launch(config)) {
    const std::int64_t outputs = outputs_of(config, problem);
    sequence.workspace_bytes = std::size_t(problem.batch * split_k * outputs * geometry.sum_bytes);
    Launch sum = gemm;
    sum.entry = "sum_slices";
    sum.grid = {unsigned((outputs + kPassThreads - 1) / kPassThreads), 1, 1};
    add_entries(sum.grid, problem.batch);
    sum.block = {kPassThreads, 1, 1};
    sum.dynamic_smem_bytes = 0;
    sum.overlaps_previous = config.at("overlap") == 1;
    sequence.launches.push_back(sum);
  }
  return sequence;
}

}  // namespace

std::unique_ptr<Family> make_gemv() { return std::make_unique<Gemv>(); }

}  // namespace tilesmith
