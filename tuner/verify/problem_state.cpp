#include "tuner/verify/problem_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "tuner/verify/tolerance.hpp"

namespace tilesmith::tuner {
namespace {

constexpr double kLargestRealWork = 68719476736.0;     // 2^36 multiplications in f64: a second where f64 is slow
constexpr double kLargestLaunchWork = 274877906944.0;  // 2^38 a launch: no single launch runs for many seconds
constexpr std::uint64_t kSeed = 0x7113;

std::uint64_t elements(const Zone& zone, Scalar element) { return zone.bytes / size_bytes(element); }

}  // namespace

std::vector<std::int64_t> sampled_rows(std::int64_t m, std::int64_t n, std::int64_t k, std::uint64_t seed) {
  const double a_row = double(n) * double(std::max<std::int64_t>(k, 1));
  if (double(m) * a_row <= kLargestRealWork) return {};
  const auto wanted = std::min<std::int64_t>(m, std::max<std::int64_t>(64, std::int64_t(kLargestRealWork / a_row)));
  if (wanted == m) return {};
  std::set<std::int64_t> chosen{0, m - 1};
  for (std::uint64_t i = 0; std::int64_t(chosen.size()) < wanted; ++i) {
    chosen.insert(std::int64_t(verify::mixed(seed, i, 11) % std::uint64_t(m)));
  }
  return {chosen.begin(), chosen.end()};
}

ProblemState::ProblemState(const runtime::Context& context, std::shared_ptr<const ReferenceKernels> kernels,
                           const Problem& problem, const runtime::Stream& stream)
    : context_(context),
      kernels_(std::move(kernels)),
      problem_(problem),
      a_zone_(make_zone(problem.a_bytes(), problem.type.a, problem.align_bytes)),
      b_zone_(make_zone(problem.b_bytes(), problem.type.b, problem.align_bytes)),
      c_zone_(make_zone(problem.c_bytes(), problem.type.output, problem.align_bytes)),
      c_(c_zone_.bytes) {
  const bool any_beta = problem.beta == BetaClass::any;
  for (Stage stage : kProblemStages) {
    if (!stage_applies(problem.type, stage, problem.k)) continue;
    ProblemStage made;
    made.stage = stage;
    if (any_beta) made.scales = stage == Stage::real ? real_scales()[1] : exact_scales(problem.type)[1];
    stages_.push_back(std::move(made));
    make_stage(stages_.back(), stream);
  }
}

void ProblemState::make_stage(ProblemStage& stage, const runtime::Stream& stream) {
  const Problem& p = problem_;
  stage.rules = stage_rules(p.type, stage.stage, p.m, p.n, p.k, kSeed + std::uint64_t(stage.stage));
  stage.a = runtime::DeviceBuffer(a_zone_.bytes);
  stage.b = runtime::DeviceBuffer(b_zone_.bytes);
  if (stage.stage == Stage::real) stage.sampled = sampled_rows(p.m, p.n, p.k, kSeed);
  stage.row_count = stage.sampled.empty() ? p.m : std::int64_t(stage.sampled.size());
  if (!stage.sampled.empty()) {
    stage.sampled_device = runtime::DeviceBuffer(stage.sampled.size() * sizeof(std::int64_t));
    stage.sampled_device.upload(std::as_bytes(std::span<const std::int64_t>(stage.sampled)));
  }
  const std::size_t sum_bytes = stage.sums_are_f64(p.type) ? 8 : 4;
  // Whole words, for the checksum.
  stage.sums = runtime::DeviceBuffer((std::size_t(stage.row_count * p.n) * sum_bytes + 7) / 8 * 8);
  stage.sums.fill(0);
  const Tolerance allowed = tolerance(p.type, stage.stage, p.k, stage.scales);
  stage.c_row = {0,
                 elements(c_zone_, p.type.output),
                 c_zone_.first_byte / size_bytes(p.type.output),
                 p.m,
                 p.n,
                 p.ldc,
                 0,
                 allowed.absolute,
                 allowed.relative};
  context_.synchronize();  // our stream does not wait for the null stream's copies
  fill_operands(stage, stream);
  compute_sums(stage, stream);
  runtime::DeviceBuffer sum(8);
  sum.fill(0);
  context_.synchronize();
  enqueue_checksum(stage, stream, sum.data());
  stream.synchronize();
  sum.download(std::as_writable_bytes(std::span<std::uint64_t, 1>(&stage.checksum, 1)));
  if (const auto fault = reference_fault(p, stage, a_zone_, b_zone_)) {
    throw std::runtime_error(
        fmt::format("the verifier's own reference for {} ({}) is wrong: {}", text(p), name(stage.stage), *fault));
  }
}

void ProblemState::fill_operands(const ProblemStage& stage, const runtime::Stream& stream) const {
  const Problem& p = problem_;
  const std::uint64_t bytes = size_bytes(p.type.a);
  const std::uint64_t slots_a = elements(a_zone_, p.type.a), slots_b = elements(b_zone_, p.type.b);
  const std::uint64_t first_a = a_zone_.first_byte / bytes, first_b = b_zone_.first_byte / bytes;
  // Along a stored row of A runs K unless A is transposed; along a stored row of B, N unless B is.
  kernels_->launch(stream, "fill_operand", slots_a, stage.a.data(), slots_a, first_a, p.a_rows(), p.a_cols(), p.lda,
                   int(p.trans.a), p.k, stage.rules.a);
  kernels_->launch(stream, "fill_operand", slots_b, stage.b.data(), slots_b, first_b, p.b_rows(), p.b_cols(), p.ldb,
                   int(!p.trans.b), p.k, stage.rules.b);
}

void ProblemState::compute_sums(const ProblemStage& stage, const runtime::Stream& stream) const {
  const Problem& p = problem_;
  const bool real = stage.stage == Stage::real;
  const std::size_t sum_bytes = stage.sums_are_f64(p.type) ? 8 : 4;
  const double a_row = double(p.n) * double(std::max<std::int64_t>(p.k, 1));
  const std::int64_t rows_a_launch =
      std::clamp<std::int64_t>(std::int64_t(kLargestLaunchWork / a_row), 32, 32 * 65535) / 32 * 32;
  for (std::int64_t first = 0; first < stage.row_count; first += rows_a_launch) {
    const std::int64_t count = std::min(rows_a_launch, stage.row_count - first);
    std::byte* rows =
        stage.sampled.empty() ? nullptr : stage.sampled_device.data() + std::size_t(first) * sizeof(std::int64_t);
    kernels_->launch_grid(
        stream, real ? "multiply_real" : "multiply_exact", {unsigned((p.n + 31) / 32), unsigned((count + 31) / 32), 1},
        {32, 8, 1}, stage.a.data() + a_zone_.first_byte, p.lda, int(p.trans.a), stage.b.data() + b_zone_.first_byte,
        p.ldb, int(p.trans.b), rows, first, count, p.n, p.k, stage.sums.data() + std::size_t(first * p.n) * sum_bytes);
  }
}

void ProblemState::enqueue_checksum(const ProblemStage& stage, const runtime::Stream& stream, std::byte* sum) const {
  add_checksum(*kernels_, stream, stage.a.data(), stage.a.size(), sum);
  add_checksum(*kernels_, stream, stage.b.data(), stage.b.size(), sum);
  add_checksum(*kernels_, stream, stage.sums.data(), stage.sums.size(), sum);
}

}  // namespace tilesmith::tuner
