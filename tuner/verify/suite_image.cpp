#include "tuner/verify/suite_image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/base/on_all_cores.hpp"
#include "kernels/problem/group_ends.hpp"
#include "kernels/problem/sparsity.hpp"
#include "kernels/shared/multiply/sparse_layout.cuh"
#include "tuner/verify/exact_data.hpp"
#include "tuner/verify/host_reference.hpp"
#include "tuner/verify/number_formats.hpp"
#include "tuner/verify/weights_data.hpp"

namespace tilesmith::tuner {
namespace {

using namespace verify;

// Wide enough that a whole extra row of most cases falls into the guard.
constexpr std::size_t kGuardBytes = 2048;
constexpr std::uint64_t kUnwrittenPattern = 0x7fabcdef;  // what integer C holds where β = 0

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

/// Room for an input between its guards, filled with poison. Returns element (0, 0).
std::byte* append_zone(SuiteImage& image, const Problem& problem, const OperandMatrix& matrix) {
  const std::size_t bytes = size_bytes(matrix.element);
  const Zone zone = make_zone(problem, matrix);
  const std::size_t start = image.operands.size();
  image.operands.resize(start + zone.bytes);
  for (std::size_t slot = 0; slot < zone.bytes / bytes; ++slot) {
    store_bits(
        matrix.element, poison_bits(matrix.element, canary_bits(slot)), image.operands.data() + start + slot * bytes);
  }
  image.bytes_at[matrix.role].push_back(start + zone.first_byte);
  return image.operands.data() + start + zone.first_byte;
}

/// Of an entry's D; of a grouped problem up to where the last group ends.
std::int64_t rows_written(const SuiteCase& of) {
  if (of.problem.batch_mode != BatchMode::grouped || of.ends.empty()) return of.problem.m;
  return rows_of_groups(of.ends, of.problem.m).back().end;
}

void append_ends(SuiteImage& image, const SuiteCase& of, const OperandMatrix& matrix) {
  std::memcpy(append_zone(image, of.problem, matrix), of.ends.data(), of.ends.size() * sizeof(std::int32_t));
}

/// Puts α or β into the image. Of α another value lies in a place of its own.
void append_scalar(SuiteImage& image, const SuiteCase& of, const OperandMatrix& matrix) {
  const bool is_alpha = matrix.role == OperandRole::alpha;
  encode(matrix.element, is_alpha ? of.scales.alpha : of.scales.beta, append_zone(image, of.problem, matrix));
  if (!is_alpha) return;
  SuiteImage other;
  encode(matrix.element, first_alpha(of.scales), append_zone(other, of.problem, matrix));
  image.other_alpha_at.push_back(image.operands.size() + other.bytes_at[matrix.role].front());
  append(image.operands, other.operands);
}

/// Of each group its rows times its B.
std::vector<double> sums_of_groups(const SuiteCase& of, const OpMatrix& a, const std::vector<OpMatrix>& b) {
  std::vector<double> sums;
  const std::vector<GroupRows> groups = rows_of_groups(of.ends, of.problem.m);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto [begin, end] = groups[g];
    const auto first = a.values.begin() + begin * a.cols;
    append(sums, multiply({end - begin, a.cols, {first, first + (end - begin) * a.cols}}, b[b.size() == 1 ? 0 : g],
                     of.problem.type.a));
  }
  return sums;
}

/// Puts A or B into the image. Returns its matrices, one of each entry or one for all, as the reference multiplies
/// them: A is [m, k], B is [k, n].
std::vector<OpMatrix> append_factor(
    SuiteImage& image, const SuiteCase& of, const OperandMatrix& matrix, const StageRules& rules) {
  const bool is_a = matrix.role == OperandRole::a;
  const ValueRule& rule = rules.of(matrix.role);
  const bool transposed = is_a ? of.problem.trans.a : of.problem.trans.b;
  const Scalar element = matrix.element;
  std::byte* first = append_zone(image, of.problem, matrix);
  // A: op's row is the vector, its column is k. B: op's column is the vector, its row is k.
  const bool poisoned = of.scales.alpha == 0 && !is_integer(element);
  // Rows that belong to no group stay poisoned: a kernel may read them, but no result may hang on them.
  const std::int64_t rows_read = is_a ? rows_written(of) : matrix.rows;
  std::vector<OpMatrix> ops;
  for (std::int64_t entry = 0; entry < matrix.matrices();
       ++entry, first += storage_bytes(element, matrix.entry_stride)) {
    OpMatrix op{transposed ? matrix.cols : matrix.rows, transposed ? matrix.rows : matrix.cols, {}};
    op.values.resize(std::size_t(op.rows * op.cols));
    const BlockScaleRule scales = block_scale_rule(of.problem, rules, entry, entry, 0);
    for (std::int64_t i = 0; i < op.rows; ++i) {
      for (std::int64_t j = 0; j < op.cols; ++j) {
        const std::int64_t vector = is_a ? entry * op.rows + i : entry * op.cols + j, k = is_a ? j : i;
        const std::int64_t at = transposed ? j * matrix.row_stride + i : i * matrix.row_stride + j;
        const bool no_value = poisoned || (is_a && i >= rows_read);
        if (!no_value) encode_at(element, rule_value(rule, vector, k, of.problem.k), first, at);
        op.values[std::size_t(i * op.cols + j)] =
            no_value ? 0 : decode_operand_at(element, first, at) * block_scale(scales, is_a, is_a ? i : j, k);
      }
    }
    ops.push_back(std::move(op));
  }
  return ops;
}

/// The same of a 2:4 sparse one, with its zeros.
OpMatrix append_sparse(SuiteImage& image, const SuiteCase& of, const OperandMatrix& matrix, const ValueRule& rule) {
  const bool is_a = matrix.role == OperandRole::a, poisoned = of.scales.alpha == 0 && !is_integer(matrix.element);
  const std::size_t bytes = size_bytes(matrix.element);
  std::byte* const first = append_zone(image, of.problem, matrix);
  OpMatrix op{is_a ? matrix.rows : of.problem.k, is_a ? of.problem.k : matrix.rows, {}};
  op.values.resize(std::size_t(op.rows * op.cols));
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t stored = 0; stored < matrix.cols; ++stored) {
      std::byte* const at = first + std::size_t(row * matrix.row_stride + stored) * bytes;
      if (!poisoned) encode(matrix.element, rule_value(rule, row, stored, matrix.cols), at);
      const std::int64_t k = place_of_stored(row, stored, bytes == 4);
      op.values[std::size_t(is_a ? row * op.cols + k : k * op.cols + row)] =
          poisoned ? 0 : decode_operand(matrix.element, at);
    }
  }
  return op;
}

void append_metadata(SuiteImage& image, const SuiteCase& of, const OperandMatrix& matrix) {
  std::byte* const first = append_zone(image, of.problem, matrix);
  for (std::int64_t word = 0; word < matrix.rows * matrix.cols; ++word) {
    const unsigned bits = metadata_word(word, matrix.cols / kMetadataWords, int(size_bytes(of.problem.type.a)));
    std::memcpy(first + std::size_t(word) * sizeof bits, &bits, sizeof bits);
  }
}

/// Puts codes, scales or zeros of weights into the image, those that are NaN where they are not to be read.
void append_weights(SuiteImage& image, const SuiteCase& of, const OperandMatrix& matrix, const WeightsRule& rule) {
  std::byte* const first = append_zone(image, of.problem, matrix);
  const bool poisoned =
      of.scales.alpha == 0 && (matrix.role != OperandRole::b || of.problem.weights.type == WeightType::e4m3);
  if (!poisoned) put_weights(of.problem, matrix.role, rule, first);
}

/// op(B) of weights that are in the image, of each expert.
std::vector<OpMatrix> factors_of_weights(const SuiteImage& image, const SuiteCase& of) {
  const Problem& p = of.problem;
  std::vector<OpMatrix> all(std::size_t(p.batch), {p.k, p.n, std::vector<double>(std::size_t(p.k * p.n))});
  for (std::size_t expert = 0; of.scales.alpha != 0 && expert < all.size(); ++expert) {
    const auto first = [&](const OperandMatrix& of_all) {
      return image.operands.data() + image.bytes_at[of_all.role].front() +
             storage_bytes(of_all.element, std::int64_t(expert) * of_all.entry_stride);
    };
    all[expert] =
        multiplied_weights(p, first(operand(p, OperandRole::b)), first(operand(p, OperandRole::weight_scales)),
            p.weights.zeros ? first(operand(p, OperandRole::weight_zeros)) : nullptr);
  }
  return all;
}

/// Puts C or a vector of the epilogue into the image, poisoned where it is not read. Returns it packed, with what is
/// read of it.
std::vector<double> append_addend(
    SuiteImage& image, const SuiteCase& of, const OperandMatrix& matrix, const ValueRule& rule, bool is_read) {
  std::byte* const first = append_zone(image, of.problem, matrix);
  const std::int64_t count = matrix.matrices() * matrix.rows * matrix.cols;
  std::vector<double> values;
  values.reserve(std::size_t(count));
  for (std::int64_t index = 0; index < count; ++index) {
    const std::int64_t place = stored_at(index, matrix.rows, matrix.cols, matrix.row_stride, matrix.entry_stride);
    std::byte* const at = first + std::size_t(place) * size_bytes(matrix.element);
    if (is_read) encode(matrix.element, rule_value(rule, index / matrix.cols, index % matrix.cols, of.problem.n), at);
    values.push_back(is_read ? decode(matrix.element, at) : 0);
  }
  return values;
}

/// `vectors`: of the epilogue, as append_addend() has them; empty where there is none.
void append_d(SuiteImage& image, const SuiteCase& of, const ValueRule& rule, const std::vector<double>& sums,
    const ByRole<std::vector<double>>& vectors) {
  const Scalar element = image.type().output;
  const std::size_t bytes = size_bytes(element);
  const Problem& problem = of.problem;
  const Zone zone = make_zone(problem.c_bytes(), element, problem.align_bytes);
  const std::size_t start = image.c_image.size();
  const Tolerance allowed = tolerance(problem, of.stage, of.scales);
  const std::int64_t rows = rows_written(of);
  const CaseRow row{start / bytes, zone.bytes / bytes, zone.first_byte / bytes, rows, problem.d_cols(), problem.ldc,
      image.expected.size(), allowed.absolute, allowed.relative, problem.entries(), problem.stride_c};
  image.c_image.resize(start + zone.bytes);
  image.expected.resize(image.expected.size() + std::size_t(problem.entries() * rows * row.n));
  for (std::uint64_t slot = 0; slot < row.slots; ++slot) {
    std::byte* at = image.c_image.data() + start + slot * bytes;
    const std::int64_t index = element_index(row, slot);
    if (index < 0) {
      store_bits(element, canary_bits(slot), at);
      continue;
    }
    const std::int64_t i = index / row.n, j = index % row.n;
    const auto of_vector = [&](OperandRole role, std::int64_t of_pair) { return vectors[role][std::size_t(of_pair)]; };
    const auto sum = [&](std::int64_t n) { return sums[std::size_t(i * problem.n + n)]; };
    encode(element, rule_value(rule, i, j, problem.n), at);  // what C holds, here or elsewhere
    image.expected[row.expected + std::size_t(index)] =
        problem.epilogue.is_gated() ? expected_pair(problem, of.stage, of.scales, i % rows, j, sum, of_vector)
                                    : expected_value(problem, of.stage, of.scales, sum(j), decode(element, at),
                                          terms_at(problem, i % rows, j, of_vector));
    if (of.scales.beta == 0 || !of.in_place) store_bits(element, poison_bits(element, kUnwrittenPattern), at);
  }
  image.rows.push_back(row);
}

/// Of one case, but for `cases`.
SuiteImage image_of(const SuiteCase& of, std::uint64_t seed) {
  const Problem& p = of.problem;
  SuiteImage image;
  image.signature = p;
  const StageRules rules = stage_rules(p, of.stage, seed);
  ByRole<std::vector<OpMatrix>> factors;
  ByRole<std::vector<double>> vectors;
  for (const OperandMatrix& matrix : inputs(p)) {
    const OperandRole role = matrix.role;
    const ValueRule& rule = rules.of(role);
    const bool of_weights = has_weights(p) && (role == OperandRole::b || role == OperandRole::weight_scales ||
                                                  role == OperandRole::weight_zeros);
    const bool is_factor = role == OperandRole::a || role == OperandRole::b;
    if (of_weights) append_weights(image, of, matrix, weights_rule(p, of.stage, rules));
    else if (is_factor && is_sparse(p, role)) factors[role] = {append_sparse(image, of, matrix, rule)};
    else if (is_factor) factors[role] = append_factor(image, of, matrix, rules);
    else if (role == OperandRole::offsets) append_ends(image, of, matrix);
    else if (role == OperandRole::alpha || role == OperandRole::beta) append_scalar(image, of, matrix);
    else if (role == OperandRole::c) append_addend(image, of, matrix, rule, of.scales.beta != 0 && !of.in_place);
    else if (role == OperandRole::metadata) append_metadata(image, of, matrix);
    else vectors[role] = append_addend(image, of, matrix, rule, true);
  }
  if (has_weights(p)) factors[OperandRole::b] = factors_of_weights(image, of);
  const auto of_entry = [&](OperandRole role, std::int64_t entry) -> const OpMatrix& {
    return factors[role][factors[role].size() == 1 ? 0 : std::size_t(entry)];
  };
  std::vector<double> sums;
  const bool in_groups = p.batch_mode == BatchMode::grouped;
  if (in_groups) sums = sums_of_groups(of, factors[OperandRole::a].front(), factors[OperandRole::b]);
  for (std::int64_t entry = 0; !in_groups && entry < p.batch; ++entry)
    append(sums, multiply(of_entry(OperandRole::a, entry), of_entry(OperandRole::b, entry), p.type.a));
  append_d(image, of, rules.c, sums, vectors);
  return image;
}

void append(SuiteImage& to, const SuiteImage& from) {
  for (CaseRow row : from.rows) {
    row.zone_slot += to.c_image.size() / size_bytes(to.type().output);
    row.expected += to.expected.size();
    to.rows.push_back(row);
  }
  for (const OperandRole role : kOperandRoles) {  // of what a case does not have, any place
    to.bytes_at[role].push_back(to.operands.size() + (from.bytes_at[role].empty() ? 0 : from.bytes_at[role].front()));
  }
  to.other_alpha_at.push_back(to.operands.size() + (from.other_alpha_at.empty() ? 0 : from.other_alpha_at.front()));
  append(to.operands, from.operands);
  append(to.expected, from.expected);
  append(to.c_image, from.c_image);
}

}  // namespace

std::string place_in_c(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t index) {
  const std::int64_t row = index / n, column = index % n;
  return batch == 1 ? fmt::format("C[{},{}]", row, column) : fmt::format("C[{}][{},{}]", row / m, row % m, column);
}

Zone make_zone(std::int64_t matrix_bytes, Scalar element, int align_bytes) {
  Zone zone;
  zone.first_byte = kGuardBytes + std::max(std::size_t(align_bytes), size_bytes(element));
  zone.bytes = (zone.first_byte + std::size_t(matrix_bytes) + kGuardBytes + 255) / 256 * 256;
  return zone;
}

Zone make_zone(const Problem& problem, const OperandMatrix& matrix) {
  const int align_bytes = int(address_align_bytes(matrix.role, matrix.element, problem.align_bytes));
  return make_zone(matrix.bytes(), matrix.element, align_bytes);
}

std::size_t SuiteImage::c_bytes_at(std::size_t index) const {
  return std::size_t(rows[index].zone_slot + rows[index].first_slot) * size_bytes(type().output);
}

SuiteImage make_suite_image(const KernelSignature& signature) {
  std::vector<SuiteCase> cases = suite_cases(signature);
  std::vector<SuiteImage> images(cases.size());
  on_all_cores(cases.size(), [&](std::size_t i) { images[i] = image_of(cases[i], 1 + std::uint64_t(i)); });
  SuiteImage all;
  all.signature = signature;
  all.cases = std::move(cases);
  for (const SuiteImage& one : images) append(all, one);
  return all;
}

std::string describe_fault(
    const SuiteImage& image, std::size_t index, const SlotFault& fault, std::uint64_t bits_1, std::uint64_t bits_2) {
  const CaseRow& row = image.rows[index];
  const auto value = [&](std::uint64_t bits) {
    std::byte stored[8];
    store_bits(image.type().output, bits, stored);
    return fmt::format("{:.9g}", decode(image.type().output, stored));
  };
  const std::string what = "suite: " + text(image.cases[index]);
  const std::int64_t at = std::int64_t(fault.slot) - std::int64_t(row.first_slot);
  if (fault.fault == kFaultOutside) {
    if (at < 0) return fmt::format("{}: wrote {} elements before C", what, -at);
    return fmt::format("{}: wrote outside C, at [{},{}]", what, at / row.ldc, at % row.ldc);
  }
  const std::string where = place_in_c(row.batch, row.m, row.n, element_index(row, fault.slot));
  if (fault.fault == kFaultSecondRun) {
    return fmt::format("{}: {} is {}, a second run gave {}", what, where, value(bits_1), value(bits_2));
  }
  const double want = image.expected[row.expected + std::size_t(element_index(row, fault.slot))];
  return fmt::format("{}: {} is {}, expected {:.9g}{}", what, where, value(bits_1), want,
      row.absolute > 0 ? fmt::format(" ± {:.2g}", row.absolute) : std::string());
}

}  // namespace tilesmith::tuner
