#include "tuner/verify/problem_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "kernels/problem/group_ends.hpp"
#include "kernels/problem/sparsity.hpp"
#include "kernels/shared/multiply/sparse_layout.cuh"
#include "tuner/verify/exact_data.hpp"
#include "tuner/verify/number_formats.hpp"
#include "tuner/verify/weights_data.hpp"

namespace tilesmith::tuner {
namespace {

constexpr double kLargestRealWork = 68719476736.0;     // 2^36 multiplications in f64: a second where f64 is slow
constexpr double kLargestLaunchWork = 274877906944.0;  // 2^38 a launch: no single launch runs for many seconds
constexpr std::uint64_t kSeed = 0x7113;

std::uint64_t elements(const Zone& zone, Scalar element) { return zone.bytes / size_bytes(element); }

/// Of an element of scales and zeros of weights, as weights_source.cpp has it.
int term_number(Scalar element) {
  return element == Scalar::f16 ? 0 : element == Scalar::bf16 ? 1 : size_bytes(element) == 1 ? 3 : 2;
}

Zones zones_of(const Problem& problem) {
  Zones zones;
  for (const OperandMatrix& matrix : operands(problem)) zones[matrix.role] = make_zone(problem, matrix);
  return zones;
}

/// The first, the last and random ones, ascending; all if that is wanted.
std::vector<std::int64_t> some_of(std::int64_t count, std::int64_t wanted, std::uint64_t seed, std::uint64_t salt) {
  std::set<std::int64_t> chosen{0, count - 1};
  for (std::int64_t one = 0; wanted >= count && one < count; ++one) chosen.insert(one);
  for (std::uint64_t i = 0; std::int64_t(chosen.size()) < std::min(wanted, count); ++i)
    chosen.insert(std::int64_t(verify::mixed(seed, i, salt) % std::uint64_t(count)));
  return {chosen.begin(), chosen.end()};
}

}  // namespace

std::vector<std::int64_t> sampled_rows(const Problem& problem, std::uint64_t seed) {
  const double a_row = double(problem.n) * double(std::max<std::int64_t>(problem.k, 1));
  if (double(problem.m) * a_row <= kLargestRealWork) return {};
  const std::int64_t wanted = std::max<std::int64_t>(64, std::int64_t(kLargestRealWork / a_row));
  return wanted >= problem.m ? std::vector<std::int64_t>() : some_of(problem.m, wanted, seed, 11);
}

std::vector<std::int64_t> sampled_entries(const Problem& problem, std::uint64_t seed) {
  constexpr double kMost = 256, kLargestSums = 1 << 30;
  const double sums = double(problem.m) * double(problem.n), work = sums * double(std::max<std::int64_t>(problem.k, 1));
  const double fit = std::min({kMost, kLargestRealWork / work, kLargestSums / (8 * sums)});
  return some_of(problem.entries(), std::max<std::int64_t>(3, std::int64_t(fit)), seed, 12);
}

ProblemState::ProblemState(const runtime::Context& context, std::shared_ptr<const ReferenceKernels> kernels,
    const Problem& problem, const runtime::Stream& stream)
    : context_(context),
      kernels_(std::move(kernels)),
      problem_(problem),
      zones_(zones_of(problem)),
      c_(zones_[OperandRole::d].bytes) {
  const bool any_beta = problem.beta == BetaClass::any;
  for (Stage stage : kProblemStages) {
    if (!stage_applies(problem, stage)) continue;
    ProblemStage made;
    made.stage = stage;
    made.scales = fitting_scales(
        problem, stage, (stage == Stage::real ? real_scales() : exact_scales(problem.type))[any_beta ? 1 : 0]);
    stages_.push_back(std::move(made));
    make_stage(stages_.back(), stream);
  }
}

void ProblemState::make_stage(ProblemStage& stage, const runtime::Stream& stream) {
  const Problem& p = problem_;
  stage.rules = stage_rules(p, stage.stage, kSeed + std::uint64_t(stage.stage));
  for (const OperandMatrix& matrix : inputs(p))
    stage.inputs[matrix.role] = runtime::DeviceBuffer(zones_[matrix.role].bytes);
  if (stage.stage == Stage::real) stage.sampled = sampled_rows(p, kSeed);
  stage.row_count = stage.sampled.empty() ? p.m : std::int64_t(stage.sampled.size());
  stage.entries = sampled_entries(p, kSeed);
  if (!stage.sampled.empty() || std::int64_t(stage.entries.size()) < p.entries()) {
    for (const std::int64_t entry : stage.entries) {
      for (std::int64_t i = 0; i < stage.row_count; ++i)
        stage.compared.push_back(entry * p.m + (stage.sampled.empty() ? i : stage.sampled[std::size_t(i)]));
    }
  }
  const auto upload = [](runtime::DeviceBuffer& to, const std::vector<std::int64_t>& rows) {
    if (rows.empty()) return;
    to = runtime::DeviceBuffer(rows.size() * sizeof(std::int64_t));
    to.upload(std::as_bytes(std::span<const std::int64_t>(rows)));
  };
  upload(stage.sampled_device, stage.sampled);
  upload(stage.compared_device, stage.compared);
  // Whole words, for the checksum.
  stage.sums = runtime::DeviceBuffer((std::size_t(stage.compared_rows() * p.n) * stage.sum_bytes(p.type) + 7) / 8 * 8);
  stage.sums.fill(0);
  const Tolerance allowed = tolerance(p, stage.stage, stage.scales);
  const Zone& c_zone = zones_[OperandRole::d];
  stage.c_row = {0, elements(c_zone, p.type.output), c_zone.first_byte / size_bytes(p.type.output), p.m, p.d_cols(),
      p.ldc, 0, allowed.absolute, allowed.relative, p.entries(), p.stride_c};
  context_.synchronize();  // our stream does not wait for the null stream's copies
  fill_operands(stage, stream);
  compute_sums(stage, stream);
  runtime::DeviceBuffer sum(8);
  sum.fill(0);
  context_.synchronize();
  enqueue_checksum(stage, stream, sum.data());
  stream.synchronize();
  sum.download(std::as_writable_bytes(std::span<std::uint64_t, 1>(&stage.checksum, 1)));
  if (const auto fault = reference_fault(p, stage, zones_)) {
    throw std::runtime_error(
        fmt::format("the verifier's own reference for {} ({}) is wrong: {}", text(p), name(stage.stage), *fault));
  }
}

void ProblemState::fill_operands(ProblemStage& stage, const runtime::Stream& stream) const {
  const Problem& p = problem_;
  for (const OperandMatrix& matrix : inputs(p)) {
    const Zone& zone = zones_[matrix.role];
    const bool scalar = matrix.role == OperandRole::alpha || matrix.role == OperandRole::beta;
    if (scalar || matrix.role == OperandRole::offsets) {
      const std::vector<std::int32_t> ends = scalar ? std::vector<std::int32_t>() : even_ends(p.m, p.batch);
      std::byte stored[8] = {};
      if (scalar)
        encode(matrix.element, matrix.role == OperandRole::alpha ? stage.scales.alpha : stage.scales.beta, stored);
      stage.inputs[matrix.role].fill(0xff);
      stage.inputs[matrix.role].upload(
          scalar ? std::span<const std::byte>(stored, size_bytes(matrix.element)) : std::as_bytes(std::span(ends)),
          zone.first_byte);
      continue;
    }
    const std::uint64_t slots = elements(zone, matrix.element), first = zone.first_byte / size_bytes(matrix.element);
    if (matrix.role == OperandRole::metadata) {
      kernels_->launch(stream, "fill_metadata", slots, stage.inputs[matrix.role].data(), slots, first,
          std::uint64_t(matrix.rows * matrix.cols), matrix.cols / kMetadataWords);
      continue;
    }
    if (has_weights(p) && matrix.role == OperandRole::b) {
      kernels_->launch(stream, "fill_weights", slots, stage.inputs[matrix.role].data(), std::uint64_t(zone.bytes),
          std::uint64_t(zone.first_byte), std::uint64_t(matrix.bytes()), p.n, p.k,
          weights_rule(p, stage.stage, stage.rules));
      continue;
    }
    if (matrix.role == OperandRole::weight_scales || matrix.role == OperandRole::weight_zeros) {
      kernels_->launch(stream, "fill_weight_terms", slots, stage.inputs[matrix.role].data(), slots, first,
          matrix.matrices(), matrix.rows, matrix.cols, term_number(matrix.element),
          int(matrix.role == OperandRole::weight_zeros), weights_rule(p, stage.stage, stage.rules));
      continue;
    }
    if (matrix.role == OperandRole::c || is_vector(matrix.role)) {
      const bool as_f32 = is_vector(matrix.role) && matrix.element == Scalar::f32;
      kernels_->launch(stream, as_f32 ? "fill_f32" : "fill_addend", slots, stage.inputs[matrix.role].data(), slots,
          first, matrix.rows, matrix.cols, matrix.row_stride, matrix.matrices(), matrix.entry_stride,
          stage.rules.of(matrix.role));
      continue;
    }
    if (matrix.matrices() > 1 && matrix.overlaps()) {
      // An element that several entries share has no row of its own, so that values go by place, as in one long row
      // along K. What a vector may sum up to then holds by its random signs, not by construction.
      const std::int64_t places = (matrix.matrices() - 1) * matrix.entry_stride + matrix.span(), one = 1, none = 0;
      kernels_->launch(stream, "fill_operand", slots, stage.inputs[matrix.role].data(), slots, first, one, places,
          places, one, none, 0, places, stage.rules.of(matrix.role));
      continue;
    }
    // Along a stored row of A runs K unless A is transposed; along a stored row of B, N unless B is.
    const bool k_along_columns = matrix.role == OperandRole::a ? p.trans.a : !p.trans.b;
    const std::int64_t depth = is_sparse(p, matrix.role) ? matrix.cols : p.k;
    kernels_->launch(stream, "fill_operand", slots, stage.inputs[matrix.role].data(), slots, first, matrix.rows,
        matrix.cols, matrix.row_stride, matrix.matrices(), matrix.entry_stride, int(k_along_columns), depth,
        stage.rules.of(matrix.role));
  }
}

std::vector<ReferencePart> reference_parts(const Problem& problem, const ProblemStage& stage) {
  std::vector<ReferencePart> parts;
  const std::int64_t rows = stage.row_count;
  if (problem.batch_mode != BatchMode::grouped) {
    for (std::size_t i = 0; i < stage.entries.size(); ++i)
      parts.push_back({stage.entries[i], stage.entries[i], 0, rows, std::int64_t(i) * rows});
    return parts;
  }
  const auto at = [&](std::int64_t row) {  // among the rows that are there
    return stage.sampled.empty() ? row : std::ranges::lower_bound(stage.sampled, row) - stage.sampled.begin();
  };
  const std::vector<GroupRows> groups = rows_of_groups(even_ends(problem.m, problem.batch), problem.m);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::int64_t first = at(groups[g].begin), count = at(groups[g].end) - first;
    if (count > 0) parts.push_back({0, std::int64_t(g), first, count, first});
  }
  return parts;
}

void ProblemState::compute_sums(const ProblemStage& stage, const runtime::Stream& stream) const {
  const Problem& p = problem_;
  const bool real = stage.stage == Stage::real;
  const std::size_t sum_bytes = stage.sum_bytes(p.type);
  const double a_row = double(p.n) * double(std::max<std::int64_t>(p.k, 1));
  const std::int64_t rows_a_launch =
      std::clamp<std::int64_t>(std::int64_t(kLargestLaunchWork / a_row), 32, 32 * 65535) / 32 * 32;
  for (const ReferencePart& part : reference_parts(p, stage)) {
    const auto matrix_of = [&](OperandRole role, std::int64_t number) {
      const OperandMatrix matrix = operand(p, role);
      return stage.first_of(zones_, role) + storage_bytes(matrix.element, number * matrix.entry_stride);
    };
    for (std::int64_t done = 0; done < part.rows; done += rows_a_launch) {
      const std::int64_t first = part.first_row + done, count = std::min(rows_a_launch, part.rows - done);
      std::byte* rows =
          stage.sampled.empty() ? nullptr : stage.sampled_device.data() + std::size_t(first) * sizeof(std::int64_t);
      if (has_weights(p)) {
        const OperandRole scales = OperandRole::weight_scales, zeros = OperandRole::weight_zeros;
        kernels_->launch_grid(stream, real ? "multiply_weights_real" : "multiply_weights_exact",
            {unsigned((p.n + 31) / 32), unsigned((count + 31) / 32), 1}, {32, 8, 1}, matrix_of(OperandRole::a, part.a),
            p.lda, int(p.trans.a), matrix_of(OperandRole::b, part.b), matrix_of(scales, part.b),
            p.weights.zeros ? matrix_of(zeros, part.b) : nullptr, term_number(operand(p, scales).element),
            weights_rule(p, stage.stage, stage.rules), rows, first, count, p.n, p.k,
            stage.sums.data() + std::size_t((part.sums_row + done) * p.n) * sum_bytes);
        continue;
      }
      kernels_->launch_grid(stream, real ? "multiply_real" : "multiply_exact",
          {unsigned((p.n + 31) / 32), unsigned((count + 31) / 32), 1}, {32, 8, 1}, matrix_of(OperandRole::a, part.a),
          p.lda, int(p.trans.a), matrix_of(OperandRole::b, part.b), p.ldb, int(p.trans.b), rows, first, count, p.n, p.k,
          int(p.sparsity), block_scale_rule(p, stage.rules, part.a, part.b, 0),
          stage.sums.data() + std::size_t((part.sums_row + done) * p.n) * sum_bytes);
    }
  }
}

void ProblemState::enqueue_checksum(const ProblemStage& stage, const runtime::Stream& stream, std::byte* sum) const {
  for (const OperandMatrix& matrix : inputs(problem_)) {
    const runtime::DeviceBuffer& zone = stage.inputs[matrix.role];
    add_checksum(*kernels_, stream, zone.data(), zone.size(), sum);
  }
  add_checksum(*kernels_, stream, stage.sums.data(), stage.sums.size(), sum);
}

}  // namespace tilesmith::tuner
