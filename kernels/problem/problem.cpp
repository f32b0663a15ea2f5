#include "kernels/problem/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/problem/operand.hpp"
#include "kernels/problem/sparsity.hpp"
#include "kernels/problem/weights.hpp"

namespace tilesmith {
namespace {

std::optional<std::string> epilogue_error(const Problem& problem) {
  const Epilogue& epilogue = problem.epilogue;
  if (epilogue.bias_is_f32 && epilogue.bias == Bias::none)
    return "a bias of f32 is asked for: expected bias_n_f32 or bias_m_f32";
  if (epilogue.bias_is_f32 && (problem.type.output == Scalar::f32 || problem.type.scale != Scalar::f32))
    return fmt::format("epilogue is {}: expected a bias of D's type, which is not narrower than f32", name(epilogue));
  if (epilogue.has_scales() && problem.type.scale != Scalar::f32)
    return fmt::format("epilogue is {}: expected no scales, which are f32, for results of {}", name(epilogue),
        name(problem.type.output));
  if (epilogue.has_block_scales()) {
    const std::string told = fmt::format("epilogue is {}: expected ", name(epilogue));
    if (!is_by_block(epilogue.scale_m) || !is_by_block(epilogue.scale_n))
      return told + "scales of blocks for A and for B, or for neither";
    const bool real_s8 = problem.type.a == Scalar::s8 && makes_integers_real(problem.type);
    if ((!is_fp8(problem.type.a) && !real_s8) || has_byte_results(problem.type))
      return told + "operands of 8-bit floats and wider results, or s8s32f16 or s8s32bf16, beside scales of blocks";
    if (is_sparse(problem) || has_weights(problem) || problem.batch_mode == BatchMode::pointers)
      return told + "no sparse operand, weights or batch by pointers beside scales of blocks";
    if (problem.batch_mode == BatchMode::grouped && epilogue.scale_m == Scaling::block)
      return told + "scale_m_1x128 of groups, which may begin at any row";
  }
  if (problem.type.scale == Scalar::s32 && !is_exact(epilogue.activation))
    return fmt::format("epilogue is {}: expected relu or none, the results are integers", name(epilogue));
  if (epilogue.is_gated() && problem.n % 2 != 0)
    return fmt::format(
        "N is {}: expected an even number, epilogue={} takes two columns for each of D", problem.n, name(epilogue));
  if (epilogue.is_gated() && problem.beta != BetaClass::zero)
    return fmt::format(
        "beta is any: expected beta=zero, epilogue={} makes half as many columns as a C would be added to",
        name(epilogue));
  return std::nullopt;
}

std::optional<std::string> dimension_error(const Problem& problem) {
  for (const auto& [dimension, value] : {std::pair{'M', problem.m}, {'N', problem.n}, {'K', problem.k}}) {
    if (value < 0 || value > kMaxDimension)
      return fmt::format("{} is {}: expected 0 to {}", dimension, value, kMaxDimension);
  }
  return std::nullopt;
}

std::optional<std::string> batch_error(const Problem& problem) {
  const std::pair<const char*, OperandRole> strides[] = {
      {"stride_a", OperandRole::a}, {"stride_b", OperandRole::b}, {"stride_c", OperandRole::c}};
  const bool single = problem.batch_mode == BatchMode::single, grouped = problem.batch_mode == BatchMode::grouped;
  if (single && problem.batch != 1)
    return fmt::format("batch is {}: expected 1 without batch_mode=strided, pointers or grouped", problem.batch);
  const std::int64_t most = grouped ? kMaxGroups : kMaxBatch;
  if (problem.batch < 0 || problem.batch > most)
    return fmt::format("batch is {}: expected 0 to {}", problem.batch, most);
  if (grouped && problem.trans.a)
    return fmt::format(
        "transposes are {}: expected NN or NT, a group has rows of A as it is stored", name(problem.trans));
  if (grouped && problem.epilogue.is_gated() && !has_weights(problem))
    return fmt::format("epilogue is {}: expected no gate of groups without weights", name(problem.epilogue));
  for (const auto& [stride, role] : strides) {
    const OperandMatrix of = operand(problem, role);
    const std::int64_t value = of.entry_stride;
    if (problem.batch_mode == BatchMode::pointers && value != of.rows * of.row_stride)
      return fmt::format("{} is {}: expected none, each entry has a pointer of its own", stride, value);
    if (single && value != 0) return fmt::format("{} is {}: expected none without batch_mode=strided", stride, value);
    if (grouped && value != 0 && role != OperandRole::b)
      return fmt::format("{} is {}: expected none, groups are rows of one matrix", stride, value);
    if (value < 0 || value > kMaxEntryStride)
      return fmt::format("{} is {}: expected 0 to {}", stride, value, kMaxEntryStride);
    if (role == OperandRole::c && !grouped && of.overlaps())
      return fmt::format("{} is {}: expected entries that do not overlap, {} of {}x{} with rows {} apart", stride,
          value, of.entries, of.rows, of.cols, of.row_stride);
    if (value * std::int64_t(size_bits(of.element)) % 8 != 0)
      return fmt::format("{} is {}: expected whole bytes, {} bits an element", stride, value, size_bits(of.element));
  }
  return std::nullopt;
}

/// The shortest row, of whole bytes.
std::int64_t packed_row(Scalar element, std::int64_t columns) {
  const std::int64_t of_byte = std::max<std::int64_t>(1, 8 / std::int64_t(size_bits(element)));
  return (std::max<std::int64_t>(1, columns) + of_byte - 1) / of_byte * of_byte;
}

/// The distance of entries that lie one behind the other. If 64 bits cannot hold it, the largest number, which
/// problem_error() refuses.
std::int64_t packed_stride(const Problem& problem, OperandRole role) {
  const OperandMatrix of = operand(problem, role);
  std::int64_t stride = 0;
  return __builtin_mul_overflow(of.rows, of.row_stride, &stride) ? std::numeric_limits<std::int64_t>::max() : stride;
}

}  // namespace

Problem with_packed_strides(Problem problem) {
  const bool batched = problem.batch_mode == BatchMode::strided || problem.batch_mode == BatchMode::pointers;
  problem.stride_a = batched ? packed_stride(problem, OperandRole::a) : 0;
  problem.stride_b = problem.batch_mode == BatchMode::single ? 0 : packed_stride(problem, OperandRole::b);
  problem.stride_c = batched ? packed_stride(problem, OperandRole::c) : 0;
  return problem;
}

std::string_view name(BetaClass beta) { return beta == BetaClass::zero ? "zero" : "any"; }

std::optional<BetaClass> parse_beta_class(std::string_view text) {
  if (text == "zero") return BetaClass::zero;
  if (text == "any") return BetaClass::any;
  return std::nullopt;
}

double Problem::effective_ops() const {
  const double md = double(m), nd = double(n), kd = double(k);
  return (md * kd + (2 * kd - 1) * md * nd + 2 * md * nd) * double(entries());
}

std::int64_t Problem::a_bytes() const { return operand(*this, OperandRole::a).bytes(); }
std::int64_t Problem::b_bytes() const { return operand(*this, OperandRole::b).bytes(); }
std::int64_t Problem::c_bytes() const { return operand(*this, OperandRole::c).bytes(); }

Problem packed_problem(const KernelSignature& signature, std::int64_t m, std::int64_t n, std::int64_t k) {
  Problem problem{signature};
  problem.m = m;
  problem.n = n;
  problem.k = k;
  if (dimension_error(problem)) return problem;  // whose strides could not be counted in 64 bits
  problem.lda = packed_row(problem.type.a, problem.a_cols());
  problem.ldb = packed_row(problem.type.b, problem.b_cols());
  problem.ldc = packed_row(problem.type.output, problem.d_cols());
  return with_packed_strides(problem);
}

namespace {

Problem packed_batch(Problem problem, BatchMode mode, std::int64_t batch) {
  problem.batch_mode = mode;
  problem.batch = batch;
  return with_packed_strides(problem);
}

}  // namespace

Problem batched(Problem problem, std::int64_t batch) { return packed_batch(problem, BatchMode::strided, batch); }
Problem by_pointers(Problem problem, std::int64_t batch) { return packed_batch(problem, BatchMode::pointers, batch); }
Problem grouped(Problem problem, std::int64_t groups) { return packed_batch(problem, BatchMode::grouped, groups); }
Problem entry_of(Problem problem) { return packed_batch(problem, BatchMode::single, 1); }

Problem with_host_scalars(Problem problem) {
  problem.scalars = Scalars::host;
  return problem;
}

Problem sister_of(Problem problem) {
  if (problem.epilogue.is_gated()) {
    problem.ldc *= 2;
    problem.stride_c *= 2;
  }
  problem.epilogue = {};
  return with_host_scalars(problem);
}

Problem plainest_sister(Problem problem) {
  problem = sister_of(problem);
  problem.beta = BetaClass::zero;
  return problem;
}

bool are_sisters(const Problem& a, const Problem& b) { return a != b && plainest_sister(a) == plainest_sister(b); }

Problem evenly_split(const Problem& problem) {
  if (problem.batch_mode != BatchMode::grouped) return problem;
  const std::int64_t groups = std::min(problem.batch, problem.m), stride_b = problem.stride_b;
  Problem split = problem;
  if (groups > 0) split.m = (problem.m - 1) / groups + 1;
  split = batched(split, groups);
  split.stride_b = stride_b;
  return split;
}

std::int64_t most_tile_rows(const Problem& problem, std::int64_t tile_rows) {
  if (problem.batch_mode != BatchMode::grouped) return ((problem.m - 1) / tile_rows + 1) * problem.batch;
  // Each group that has rows leaves at most all but one of a tile's rows unused.
  return (problem.m + std::min(problem.batch, problem.m) * (tile_rows - 1)) / tile_rows;
}

Problem canonical(Problem problem) {
  const auto replace = [&problem](OperandRole role, std::int64_t& row_stride, std::int64_t& entry_stride) {
    const OperandMatrix of = operand(problem, role);
    const bool is_by_pointers =
        problem.batch_mode == BatchMode::pointers && entry_stride == packed_stride(problem, role);
    if (of.rows <= 1) row_stride = packed_row(of.element, of.cols);
    if (is_by_pointers || (problem.batch_mode == BatchMode::strided && of.entries <= 1))
      entry_stride = packed_stride(problem, role);
  };
  replace(OperandRole::a, problem.lda, problem.stride_a);
  if (!has_weights(problem)) replace(OperandRole::b, problem.ldb, problem.stride_b);
  replace(OperandRole::c, problem.ldc, problem.stride_c);
  if (problem.epilogue.has_terms() || problem.beta == BetaClass::zero) problem.epilogue.c_apart = false;
  return problem;
}

std::optional<std::string> problem_error(const Problem& given) {
  if (const auto wrong = dimension_error(given)) return wrong;
  const Problem problem = canonical(given);
  const std::pair<const char*, OperandRole> strides[] = {
      {"lda", OperandRole::a}, {"ldb", OperandRole::b}, {"ldc", OperandRole::c}};
  int least_element = kDefaultAlignBytes;
  for (const auto& [stride, role] : strides) {
    if (role == OperandRole::b && has_weights(problem)) continue;  // weights_error()
    const OperandMatrix of = operand(problem, role);
    const std::int64_t value = of.row_stride, columns = std::max<std::int64_t>(1, of.cols);
    least_element = std::min(least_element, int(size_bytes(of.element)));
    if (value < columns || value > kMaxDimension)
      return fmt::format(
          "{} is {}: expected {} (the columns of a stored row) to {}", stride, value, columns, kMaxDimension);
    if (value * std::int64_t(size_bits(of.element)) % 8 != 0)
      return fmt::format(
          "{} is {}: expected rows of whole bytes, {} bits an element", stride, value, size_bits(of.element));
  }
  const int align = problem.align_bytes;
  if (align < 1 || align > 16 || (align & (align - 1)) != 0) {
    return fmt::format("align is {}: expected 1, 2, 4, 8 or 16 bytes", align);
  }
  if (align < least_element)
    return fmt::format("align is {}: expected at least one element, {} bytes", align, least_element);
  if (const auto wrong = epilogue_error(problem)) return wrong;
  if (const auto wrong = weights_error(problem)) return wrong;
  if (const auto wrong = sparsity_error(problem)) return wrong;
  return batch_error(problem);
}

Problem as_planned(const Problem& problem) {
  Problem planned = problem;
  const auto round_up = [&](OperandRole role, std::int64_t& row_stride, std::int64_t& entry_stride) {
    const OperandMatrix of = operand(problem, role);
    const std::int64_t whole = kDefaultAlignBytes * 8 / std::int64_t(size_bits(of.element));
    if (of.rows == 1) row_stride = (row_stride + whole - 1) / whole * whole;
    if (of.entries == 1) entry_stride = (entry_stride + whole - 1) / whole * whole;
  };
  round_up(OperandRole::a, planned.lda, planned.stride_a);
  if (!has_weights(problem)) round_up(OperandRole::b, planned.ldb, planned.stride_b);
  round_up(OperandRole::c, planned.ldc, planned.stride_c);
  return planned;
}

int row_align_bytes(const Problem& problem, Scalar element, std::int64_t row_stride) {
  const std::int64_t stride_bytes = storage_bytes(element, row_stride);
  int align = problem.align_bytes;
  while (align > 1 && stride_bytes % align != 0) align /= 2;
  return align;
}

int a_align_bytes(const Problem& problem) {
  return std::min(row_align_bytes(problem, problem.type.a, problem.lda),
      row_align_bytes(problem, problem.type.a, problem.stride_a));
}
int b_align_bytes(const Problem& problem) {
  if (has_weights(problem)) return problem.align_bytes;  // of whole blocks
  return std::min(row_align_bytes(problem, problem.type.b, problem.ldb),
      row_align_bytes(problem, problem.type.b, problem.stride_b));
}
int c_align_bytes(const Problem& problem) {
  return std::min(row_align_bytes(problem, problem.type.output, problem.ldc),
      row_align_bytes(problem, problem.type.output, problem.stride_c));
}

}  // namespace tilesmith
