#include "tuner/verify/suite_cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "kernels/problem/group_ends.hpp"
#include "kernels/problem/sparsity.hpp"
#include "kernels/problem/weights.hpp"
#include "tuner/verify/shared_rules.hpp"

namespace tilesmith::tuner {
namespace {

/// How leading dimensions are chosen: `unit` bytes that every row starts at a multiple of.
enum class Rows { packed, padded_16, padded_8, padded_4, odd };

struct Shape {
  int m, n, k;
  Rows rows = Rows::padded_16;
  int align_bytes = 16;  ///< 0: one element
  bool extra = false;    ///< real-valued and rounding stages too
};

constexpr Shape kShapes[] = {{1, 1, 1}, {2, 3, 2}, {7, 8, 15}, {8, 15, 16}, {13, 17, 31}, {16, 16, 16},
    {17, 13, 33, Rows::padded_16, 16, true}, {31, 33, 17}, {33, 31, 65}, {16, 64, 64}, {63, 65, 64}, {64, 63, 129},
    {65, 64, 33, Rows::padded_16, 16, true}, {64, 64, 32}, {1, 97, 200, Rows::padded_16, 16, true}, {97, 1, 129},
    {1, 257, 65}, {127, 129, 64}, {128, 127, 65, Rows::padded_16, 16, true}, {129, 128, 31}, {128, 128, 128},
    {127, 255, 15}, {255, 257, 33}, {257, 255, 2}, {256, 256, 64}, {300, 261, 197, Rows::padded_16, 16, true},
    {517, 130, 40}, {70, 1029, 24}, {40, 50, 521, Rows::padded_16, 16, true}, {48, 36, 0},
    {13, 17, 31, Rows::packed, 0}, {17, 13, 33, Rows::odd, 0}, {63, 65, 64, Rows::odd, 0, true},
    {65, 63, 65, Rows::packed, 16}, {127, 129, 33, Rows::odd, 16}, {129, 127, 129, Rows::packed, 0},
    {64, 64, 64, Rows::padded_8, 8}, {97, 101, 103, Rows::padded_4, 4, true}, {128, 128, 64, Rows::packed, 16},
    {255, 131, 65, Rows::odd, 0}, {300, 261, 197, Rows::odd, 0}, {64, 128, 32, Rows::packed, 0},
    {1, 31, 200, Rows::odd, 0}, {31, 1, 65, Rows::odd, 0},
    // C's rows begin and end with whole 16 bytes, which ends most tiles within: what is stored in boxes is held to
    // these.
    {100, 200, 72, Rows::padded_16, 16, true}, {13, 40, 33, Rows::padded_16, 16, true},
    {257, 328, 129, Rows::packed, 16, true}, {70, 1032, 24, Rows::padded_16, 16, true},
    // One row, whose stride is odd and is never used.
    {1, 96, 199, Rows::packed, 16, true}, {96, 1, 199, Rows::packed, 16},
    // Few columns, and K-steps for more than a ring.
    {130, 16, 1301, Rows::padded_16, 16, true}};

std::int64_t leading_dimension(Rows rows, std::int64_t columns, Scalar element) {
  const auto bits = std::int64_t(size_bits(element)), of_byte = std::max<std::int64_t>(1, 8 / bits);
  if (of_byte > 1)
    return of_byte * leading_dimension(rows, (columns + of_byte - 1) / of_byte, Scalar::u8);  // whole bytes
  const auto elements_in = [&](std::int64_t unit) { return std::max<std::int64_t>(1, unit * 8 / bits); };
  const std::int64_t in_16 = elements_in(16);
  const std::int64_t whole = (std::max<std::int64_t>(columns, 1) + in_16 - 1) / in_16 * in_16;
  switch (rows) {
    case Rows::packed: return std::max<std::int64_t>(columns, 1);
    case Rows::padded_16: return whole + in_16;
    case Rows::padded_8: return whole + elements_in(8);
    case Rows::padded_4: return whole + elements_in(4);
    case Rows::odd: return (columns + 1) | 1;
  }
  return columns;
}

// Shapes with more columns have as many, not twice: the host multiplies them all.
constexpr int kMostPairs = 200;

/// Of a sparse operand as many groups as hold these elements.
std::int64_t whole_groups(const KernelSignature& signature, std::int64_t k) {
  const std::int64_t group = is_sparse(signature) ? sparse_group(signature.type.a) : 1;
  return (k + group - 1) / group * group;
}

Problem make_problem(const KernelSignature& signature, const Shape& shape) {
  const TypePair& type = signature.type;
  // Of gated columns as many pairs as the shape has columns: edges of tiles then lie everywhere among both halves.
  const bool gated = signature.epilogue.is_gated();
  const std::int64_t group = weight_k_multiple(signature.weights);
  const bool weights = has_weights(signature);
  Problem problem = packed_problem(signature, shape.m,
      gated && shape.n < kMostPairs ? 2 * shape.n : shape.n / 2 * 2 + (gated ? 0 : shape.n % 2),
      whole_groups(signature, (shape.k + group - 1) / group * group));
  problem.lda = leading_dimension(shape.rows, problem.a_cols(), type.a);
  if (!weights) problem.ldb = leading_dimension(shape.rows, problem.b_cols(), type.b);
  problem.ldc = leading_dimension(shape.rows, problem.d_cols(), type.output);
  const int element = int(std::min({size_bytes(type.a), size_bytes(type.b), size_bytes(type.output)}));
  problem.align_bytes = std::max(shape.align_bytes, element);
  return problem;
}

/// Operands below a byte: K-steps for more than a ring, and rows that end anywhere within a byte.
constexpr Shape kLongRows[] = {{130, 16, 10403}, {66, 72, 4096}, {33, 40, 8191, Rows::packed, 16},
    {70, 66, 2049, Rows::odd, 0}, {40, 136, 1027, Rows::packed, 0}};

/// How the matrices of a batch lie.
enum class Entries { apart, a_shared, packed, b_shared, side_by_side };

/// Of matrices one behind the other: bytes between them, where there are some, are a multiple of what rows start at.
std::int64_t entry_stride(Rows rows, const OperandMatrix& of) {
  return leading_dimension(rows, std::max<std::int64_t>(1, of.rows * of.row_stride), of.element);
}

/// A batch of the problem. Large shapes have few entries, since the host multiplies them all.
Problem make_batch(Problem problem, const Shape& shape, std::size_t index) {
  constexpr std::int64_t kBatches[] = {3, 5, 2, 1};
  constexpr double kLarge = 1e6;
  const auto layout = Entries(index % 5);
  const double work = double(shape.m) * shape.n * shape.k;
  problem.batch = std::min(kBatches[index % 4], std::int64_t(work > kLarge ? 2 : 5));
  const auto place = [&](OperandRole role, std::int64_t& row_stride, std::int64_t& stride) {
    if (layout == Entries::side_by_side) {
      stride = row_stride;
      row_stride *= problem.batch;
    } else {
      const OperandMatrix of = operand(problem, role);
      stride = layout == Entries::packed ? of.rows * of.row_stride : entry_stride(shape.rows, of);
    }
  };
  place(OperandRole::a, problem.lda, problem.stride_a);
  place(OperandRole::b, problem.ldb, problem.stride_b);
  place(OperandRole::c, problem.ldc, problem.stride_c);
  if (layout == Entries::a_shared) problem.stride_a = 0;
  if (layout == Entries::b_shared) problem.stride_b = 0;
  return problem;
}

/// More entries than a grid has blocks in y.
Problem make_long_batch(const KernelSignature& signature, const Shape& shape) {
  constexpr std::int64_t kEntries = 65543;
  const Problem entry = make_problem(signature, shape);
  return signature.batch_mode == BatchMode::pointers ? by_pointers(entry, kEntries) : batched(entry, kEntries);
}

SuiteCase make_case(Problem problem, Scales scales, Stage stage, std::size_t index) {
  scales = fitting_scales(problem, stage, scales);
  // C apart alone is for β that may be anything.
  const bool any_beta = problem.epilogue.c_apart;
  // β = 0 comes both declared (the caller promised it) and as a value met at run time, and either on all SMs and on
  // one.
  problem.beta = problem.epilogue.is_gated() || (scales.beta == 0 && index % 2 == 0 && !any_beta) ? BetaClass::zero
                                                                                                  : BetaClass::any;
  const bool on_one_sm = (index / 2 + std::size_t(stage)) % 2 == 1;
  // A C of its own is given to two of three, whatever β comes to.
  const bool in_place = !is_fused(problem) || problem.beta == BetaClass::zero || index % 3 == 0;
  return {std::move(problem), scales, stage, on_one_sm, in_place};
}

/// The problem with its rows split among groups.
Problem make_groups(const Problem& problem, const Shape& shape, std::size_t index) {
  constexpr std::int64_t kGroups[] = {3, 5, 4, 8};
  Problem split = grouped(problem, shape.m == 300 && shape.n < 100 ? 130 : kGroups[index % 4]);
  const auto layout = has_weights(problem) ? 0 : index % 5;  // weights lie in one way
  if (layout == 1) split.stride_b = 0;
  if (layout > 2) split.stride_b = entry_stride(shape.rows, operand(split, OperandRole::b));
  return split;
}

/// Of weights and scales of blocks: many groups, and rows of few blocks of a part of K.
constexpr Shape kDeepWeights[] = {
    {1, 272, 2112}, {16, 200, 2048, Rows::padded_16, 16, true}, {33, 1040, 640}, {8, 48, 4224}};

/// More groups than a warp has lanes.
constexpr Shape kManyGroups[] = {
    {300, 40, 24}, {300, 72, 64}, {300, 33, 40, Rows::odd, 0}, {300, 96, 33, Rows::padded_16, 16, true}};

}  // namespace

std::vector<std::int32_t> group_ends_of_case(const Problem& problem, std::size_t number) {
  const auto m = std::int32_t(problem.m);
  const auto groups = std::size_t(problem.batch);
  std::vector<std::int32_t> ends = even_ends(m, problem.batch);
  switch (number % 10) {
    case 0: break;
    case 1:  // the first is empty, and a third of the rows behind the last is nobody's
      for (std::size_t g = 0; g < groups; ++g)
        ends[g] = std::int32_t(m * std::int64_t(2 * g) / std::int64_t(3 * groups));
      break;
    case 2:  // within, every other one is empty
      for (std::size_t g = 1; g < groups; g += 2) ends[g] = ends[g - 1];
      ends.back() = m;
      break;
    case 3:  // the last is empty
      if (groups > 1) ends[groups - 2] = m;
      break;
    case 4:  // one within has all rows
      for (std::size_t g = 0; g < groups; ++g) ends[g] = g < groups / 2 ? 0 : m;
      break;
    case 5:  // the first has one row
      ends.front() = std::min(1, m);
      for (std::size_t g = 1; g < groups; ++g) ends[g] = std::max(ends[g], ends[g - 1]);
      break;
    case 6:  // at random
      for (std::size_t g = 0; g < groups; ++g)
        ends[g] = std::int32_t(verify::mixed(number, g, 13) % std::uint64_t(m + 1));
      std::ranges::sort(ends);
      break;
    case 7:  // few rows of many
      for (std::int32_t& end : ends) end /= 3;
      break;
    case 8:  // one lies before the one ahead of it
      ends[groups / 2] = ends[groups / 2] / 2 - 3;
      break;
    default:  // the last two lie behind M
      ends.back() = m + 1000;
      if (groups > 2) ends[groups - 2] = m + 7;
      break;
  }
  return ends;
}

std::vector<SuiteCase> suite_cases(const KernelSignature& signature) {
  const TypePair& type = signature.type;
  std::vector<SuiteCase> cases;
  const std::span<const Scales> exact = exact_scales(type);
  const std::span<const Scales> real = real_scales();
  std::size_t index = 0;
  std::vector<Shape> shapes(std::begin(kShapes), std::end(kShapes));
  const bool in_groups = signature.batch_mode == BatchMode::grouped;
  if (in_groups) shapes.insert(shapes.end(), std::begin(kManyGroups), std::end(kManyGroups));
  if (size_bits(type.a) < 8 && type.a == type.b)
    shapes.insert(shapes.end(), std::begin(kLongRows), std::end(kLongRows));
  if (has_weights(signature) || signature.epilogue.has_block_scales())
    shapes.insert(shapes.end(), std::begin(kDeepWeights), std::end(kDeepWeights));
  for (const Shape& shape : shapes) {
    Problem problem = make_problem(signature, shape);
    if (signature.batch_mode == BatchMode::strided) problem = make_batch(problem, shape, index);
    if (signature.batch_mode == BatchMode::pointers)
      problem = by_pointers(problem, make_batch(problem, shape, index).batch);
    if (in_groups) problem = make_groups(problem, shape, index);
    // A shape that the further stages use is also the one whose exact run must not be a trivial α = 0.
    Scales scales = exact[index % exact.size()];
    if (shape.extra && scales.alpha == 0) scales = exact[1];
    cases.push_back(make_case(problem, scales, Stage::exact, index));
    if (shape.extra) {
      for (Stage stage : {Stage::wide_a, Stage::wide_b, Stage::wide_c, Stage::real}) {
        if (!stage_applies(problem, stage)) continue;
        const Scales& chosen = stage == Stage::real ? real[index % real.size()] : exact[index % 4];
        cases.push_back(make_case(problem, chosen, stage, index));
      }
    }
    ++index;
  }
  if (signature.batch_mode == BatchMode::strided || signature.batch_mode == BatchMode::pointers) {
    // One row or column for `gemv`, which runs no other shapes.
    for (const Shape& shape : {Shape{2, 3, 2}, Shape{1, 3, 2}, Shape{3, 1, 2}}) {
      SuiteCase many = make_case(make_long_batch(signature, shape), exact[0], Stage::exact, 0);
      many.on_one_sm = false;  // it would take long
      cases.push_back(std::move(many));
    }
  }
  if (in_groups) {
    for (std::size_t i = 0; i < cases.size(); ++i) cases[i].ends = group_ends_of_case(cases[i].problem, i);
  }
  return cases;
}

std::string text(const Problem& problem, const Scales& scales, Stage stage) {
  return fmt::format("{} α={:g} β={:g} {}", tilesmith::text(problem), scales.alpha, scales.beta, name(stage));
}

std::string text(const SuiteCase& suite_case) {
  constexpr std::size_t kMostShown = 8;
  const std::span<const std::int32_t> ends = suite_case.ends;
  const std::string groups =
      ends.empty() ? ""
                   : fmt::format(", ends {}{}", fmt::join(ends.first(std::min(ends.size(), kMostShown)), " "),
                         ends.size() > kMostShown ? " ..." : "");
  return fmt::format("{}{}{}{}", text(suite_case.problem, suite_case.scales, suite_case.stage),
      suite_case.on_one_sm ? " as on one SM" : "", suite_case.in_place ? "" : ", C apart", groups);
}

}  // namespace tilesmith::tuner
