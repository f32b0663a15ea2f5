// A GEMM kernel played on the host, over the suite's own memory image: right, or with one of the usual bugs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/problem/group_ends.hpp"
#include "tuner/verify/host_reference.hpp"
#include "tuner/verify/number_formats.hpp"
#include "tuner/verify/suite_image.hpp"

namespace tilesmith::tuner {

enum class HostBug {
  none,
  drops_last_k,
  drops_k_tail,  ///< what K leaves beyond a multiple of 16
  ignores_alpha,
  ignores_beta,
  reads_c_at_beta_0,  ///< by multiplying it with 0
  ignores_trans,      ///< of A
  swaps_leading_dims,
  reads_past_k,  ///< one element beyond a row or column of K
  skips_last_row,
  writes_past_row,
  writes_before_c,
  leaves_nan,
  truncates_tf32,
  sums_in_output,      ///< accumulates in the output's format
  rounds_before_beta,  ///< rounds the sum to the output's format, and then the result
  truncates_c,
  rounds_ties_away,  ///< of C
  second_run_differs,
  ignores_stride_a,  ///< all entries of a batch read the first one's A
  ignores_stride_c,  ///< all entries are written into the first one's C
  moves_shared_b,    ///< a stride of 0 is taken for one of packed matrices
  skips_last_entry,
  writes_entry_behind,  ///< one more entry than there are
  shares_scaled_c,      ///< each entry reads the first one's C
  reads_at_alpha_0,
  swaps_scalars,        ///< α and β in device memory
  keeps_first_alpha,    ///< α as the launch before had it
  reads_scalar_behind,  ///< the value behind each
  swaps_nibbles,        ///< of elements below a byte: neighbours
  lacks_signs,          ///< s4 is taken for u4
  reads_signs,          ///< u4 is taken for s4
  reads_whole_bytes,    ///< what lies beside K in a row's last byte counts
  ands_bits             ///< the AND of bits is counted, not the XOR
};

/// The value as a float format holds it, rounded to nearest, ties to even.
inline double rounded(Scalar element, double value) {
  std::byte stored[8];
  encode(element, value, stored);
  return decode(element, stored);
}

/// The value of that sign and lesser or equal magnitude in a 16-bit format, whose bits grow with the magnitude.
inline double truncated(Scalar element, double value) {
  std::byte stored[8];
  encode(element, value, stored);
  if (std::abs(decode(element, stored)) > std::abs(value)) store_bits(element, load_bits(element, stored) - 1, stored);
  return decode(element, stored);
}

/// To nearest, ties away from zero.
inline double rounded_away(Scalar element, double value) {
  std::byte above[8];
  const double below = truncated(element, value);
  encode(element, below, above);
  store_bits(element, load_bits(element, above) + 1, above);
  const double next = decode(element, above);
  return std::abs(value - below) < std::abs(next - value) ? below : next;
}

/// Adds one product as the accumulator would, rounding at every step.
inline double accumulated(Scalar accumulator, double sum, double product) {
  switch (accumulator) {
    case Scalar::f16: return from_f16(to_f16(float(sum + product)));
    case Scalar::bf16: return from_bf16(to_bf16(float(sum + product)));
    case Scalar::f32: return float(sum + product);
    default: return sum + product;  // f64; s32 wraps at the end
  }
}

class HostKernel {
 public:
  HostKernel(const SuiteImage& image, HostBug bug) : image_(image), bug_(bug) {}

  /// Runs one case on an image of C.
  void run(std::size_t index, std::vector<std::byte>& c) const {
    const SuiteCase& of = image_.cases[index];
    const Problem& p = of.problem;
    std::byte* const c_at = c.data() + image_.c_bytes_at(index);
    const std::int64_t rows = bug_ == HostBug::skips_last_row ? p.m - 1 : p.m;
    const bool reads_operands = scalars_of(index).alpha != 0 || bug_ == HostBug::reads_at_alpha_0;
    const std::int64_t depth = reads_operands ? depth_of(p) : 0;
    const std::int64_t entries = p.batch + (bug_ == HostBug::writes_entry_behind) - (bug_ == HostBug::skips_last_entry);
    if (p.batch_mode == BatchMode::grouped) return run_groups(index, c_at, depth);
    const std::vector<std::byte> before = bug_ == HostBug::shares_scaled_c ? c : std::vector<std::byte>();
    for (std::int64_t entry = 0; entry < entries; ++entry) {
      const std::int64_t read = std::min(entry, p.batch - 1);
      const std::vector<double> a = rows_of_a(index, read, rows, depth), b = columns_of_b(index, read, depth);
      std::byte* const its_c =
          c_at + (bug_ == HostBug::ignores_stride_c ? 0 : entry * p.stride_c) * std::int64_t(c_bytes());
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < p.n; ++j) {
          const std::size_t held = image_.c_bytes_at(index) + std::size_t(i * p.ldc + j) * c_bytes();
          if (bug_ == HostBug::shares_scaled_c)
            std::copy_n(
                before.begin() + std::ptrdiff_t(held), c_bytes(), its_c + std::size_t(i * p.ldc + j) * c_bytes());
          write(index, its_c, i, j, dot(a.data() + i * depth, b.data() + j * depth, depth));
        }
      }
    }
    if (bug_ == HostBug::leaves_nan) encode(image_.type().output, std::numeric_limits<double>::quiet_NaN(), c_at);
    if (bug_ == HostBug::writes_past_row)
      encode(image_.type().output, 0, c_at + std::size_t((p.m - 1) * p.ldc + p.n) * c_bytes());
    if (bug_ == HostBug::writes_before_c) encode(image_.type().output, 0, c_at - c_bytes());
  }

  /// Makes of one case's first run the second one: another run would give the same bits, but for the bug that is about
  /// that.
  void run_again(std::size_t index, const std::vector<std::byte>& first, std::vector<std::byte>& second) const {
    const CaseRow& row = image_.rows[index];
    const std::size_t zone = std::size_t(row.zone_slot) * c_bytes();
    std::copy_n(first.begin() + std::ptrdiff_t(zone), std::size_t(row.slots) * c_bytes(),
        second.begin() + std::ptrdiff_t(zone));
    if (bug_ != HostBug::second_run_differs || image_.cases[index].stage != Stage::real) return;
    std::byte* c_at = second.data() + image_.c_bytes_at(index);
    store_bits(image_.type().output, load_bits(image_.type().output, c_at) ^ 1, c_at);
  }

 private:
  /// Each group's rows by its B. skips_last_entry: the last group; writes_entry_behind: also the rows behind it;
  /// moves_shared_b.
  void run_groups(std::size_t index, std::byte* c_at, std::int64_t depth) const {
    const SuiteCase& of = image_.cases[index];
    const Problem& p = of.problem;
    std::vector<GroupRows> groups = rows_of_groups(of.ends, p.m);
    if (bug_ == HostBug::skips_last_entry) groups.pop_back();
    if (bug_ == HostBug::writes_entry_behind) groups.back().end = p.m;
    if (bug_ == HostBug::skips_last_row && groups.back().end > groups.back().begin) --groups.back().end;
    const std::vector<double> a = rows_of_a(index, 0, p.m, depth);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const std::size_t group = bug_ == HostBug::moves_shared_b && g + 1 < groups.size() ? g + 1 : g;
      const std::vector<double> b = columns_of_b(index, p.stride_b == 0 ? 0 : std::int64_t(group), depth);
      for (std::int64_t i = groups[g].begin; i < groups[g].end; ++i) {
        for (std::int64_t j = 0; j < p.n; ++j)
          write(index, c_at, i, j, dot(a.data() + i * depth, b.data() + j * depth, depth));
      }
    }
  }

  std::size_t c_bytes() const { return size_bytes(image_.type().output); }

  double operand(const std::byte* first, std::int64_t number) const {
    const std::byte* const at = first + storage_bytes(image_.type().a, number);
    if (bug_ == HostBug::swaps_nibbles) return decode_operand_at(image_.type().a, first, number ^ 1);
    if (bug_ == HostBug::lacks_signs) return decode_operand_at(Scalar::u4, first, number);
    if (bug_ == HostBug::reads_signs) return decode_operand_at(Scalar::s4, first, number);
    if (bug_ == HostBug::truncates_tf32) {
      std::byte stored[4];
      store_bits(Scalar::f32, load_bits(Scalar::f32, at) & 0xffffe000u, stored);
      return decode(Scalar::f32, stored);
    }
    return decode_operand_at(image_.type().a, first, number);
  }

  /// How many products are added up.
  std::int64_t depth_of(const Problem& p) const {
    std::int64_t depth = p.k;
    if (bug_ == HostBug::drops_last_k) depth -= 1;
    if (bug_ == HostBug::drops_k_tail) depth -= depth % 16;
    if (bug_ == HostBug::reads_past_k) depth += 1;
    const std::int64_t of_byte = 8 / std::int64_t(std::min<std::size_t>(8, size_bits(p.type.a)));
    if (bug_ == HostBug::reads_whole_bytes) depth = (depth + of_byte - 1) / of_byte * of_byte;
    return std::max<std::int64_t>(depth, 0);
  }

  std::vector<double> rows_of_a(
      std::size_t index, std::int64_t entry, std::int64_t rows, std::int64_t depth) const {  // [rows, depth]
    const Problem& p = image_.cases[index].problem;
    const std::byte* a = image_.operands.data() + image_.bytes_at[OperandRole::a][index];
    if (bug_ != HostBug::ignores_stride_a) a += storage_bytes(p.type.a, entry * p.stride_a);
    const bool trans_a = bug_ == HostBug::ignores_trans ? !p.trans.a : p.trans.a;
    const std::int64_t lda = bug_ == HostBug::swaps_leading_dims ? p.ldb : p.lda;
    std::vector<double> values;
    values.reserve(std::size_t(rows * depth));
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t k = 0; k < depth; ++k) {
        const std::int64_t in_a = trans_a ? k * lda + i : i * lda + k;
        values.push_back(operand(a, in_a));
      }
    }
    return values;
  }

  std::vector<double> columns_of_b(std::size_t index, std::int64_t entry, std::int64_t depth) const {  // [n, depth]
    const Problem& p = image_.cases[index].problem;
    const std::byte* b = image_.operands.data() + image_.bytes_at[OperandRole::b][index];
    const bool moves = bug_ == HostBug::moves_shared_b && p.stride_b == 0 && p.batch_mode == BatchMode::strided;
    b += storage_bytes(p.type.b, entry * (moves ? p.b_rows() * p.ldb : p.stride_b));
    const std::int64_t ldb = bug_ == HostBug::swaps_leading_dims ? p.lda : p.ldb;
    std::vector<double> values;
    values.reserve(std::size_t(p.n * depth));
    for (std::int64_t j = 0; j < p.n; ++j) {
      for (std::int64_t k = 0; k < depth; ++k) {
        const std::int64_t in_b = p.trans.b ? j * ldb + k : k * ldb + j;
        values.push_back(operand(b, in_b));
      }
    }
    return values;
  }

  double dot(const double* a, const double* b, std::int64_t depth) const {
    const Scalar accumulator = bug_ == HostBug::sums_in_output ? image_.type().output : image_.type().accumulator;
    double sum = 0;
    const Scalar element = bug_ == HostBug::ands_bits ? Scalar::b1 : image_.type().a;
    for (std::int64_t k = 0; k < depth; ++k) sum = accumulated(accumulator, sum, product(element, a[k], b[k]));
    return sum;
  }

  /// Those of the case; in device memory what lies there, and 0 where there is no β.
  Scales scalars_of(std::size_t index) const {
    const SuiteCase& of = image_.cases[index];
    if (of.problem.scalars == Scalars::host) return of.scales;
    const Scalar element = image_.type().scale;
    const std::size_t behind = bug_ == HostBug::reads_scalar_behind ? size_bytes(element) : 0;
    const auto value = [&](std::size_t at) { return decode(element, image_.operands.data() + at + behind); };
    Scales scales{value(bug_ == HostBug::keeps_first_alpha ? image_.other_alpha_at[index]
                                                           : image_.bytes_at[OperandRole::alpha][index]),
        0};
    if (of.problem.beta == BetaClass::any) scales.beta = value(image_.bytes_at[OperandRole::beta][index]);
    if (bug_ == HostBug::swaps_scalars) std::swap(scales.alpha, scales.beta);
    return scales;
  }

  void write(std::size_t index, std::byte* c_at, std::int64_t i, std::int64_t j, double sum) const {
    const SuiteCase& of = image_.cases[index];
    std::byte* at = c_at + std::size_t(i * of.problem.ldc + j) * c_bytes();
    Scales scales = scalars_of(index);
    if (bug_ == HostBug::ignores_alpha) scales.alpha = 1;
    if (bug_ == HostBug::ignores_beta) scales.beta = 0;
    if (bug_ == HostBug::rounds_before_beta) sum = rounded(image_.type().output, sum);
    const double c = decode(image_.type().output, at);
    double result = scaled(image_.type(), scales, sum, c);
    if (bug_ == HostBug::reads_c_at_beta_0) result += scales.beta * c;
    if (bug_ == HostBug::reads_c_at_beta_0 && scales.beta != 0) result -= scales.beta * c;
    if (bug_ == HostBug::reads_at_alpha_0 && scales.alpha == 0) result += scales.alpha * sum;
    if (bug_ == HostBug::truncates_c) result = truncated(image_.type().output, result);
    if (bug_ == HostBug::rounds_ties_away) result = rounded_away(image_.type().output, result);
    encode(image_.type().output, result, at);
  }

  const SuiteImage& image_;
  HostBug bug_;
};

/// Compares two runs' images of C of one case: the host's twin of the compare kernel.
inline std::optional<SlotFault> compare_case(const SuiteImage& image, std::size_t index,
    std::span<const std::byte> run_1, std::span<const std::byte> run_2, bool same_bits) {
  const CaseRow& row = image.rows[index];
  const Scalar element = image.type().output;
  const std::size_t bytes = size_bytes(element);
  for (std::uint64_t slot = 0; slot < row.slots; ++slot) {
    const std::size_t at = std::size_t(row.zone_slot + slot) * bytes;
    const std::int64_t inside = verify::element_index(row, slot);
    const double want = inside < 0 ? 0 : image.expected[row.expected + std::size_t(inside)];
    const int fault = verify::slot_fault(row, inside >= 0, want, load_bits(element, image.c_image.data() + at),
        load_bits(element, run_1.data() + at), load_bits(element, run_2.data() + at),
        decode(element, run_1.data() + at), decode(element, run_2.data() + at), same_bits);
    if (fault != verify::kFaultNone) return SlotFault{verify::Fault(fault), slot};
  }
  return std::nullopt;
}

/// Plays the suite case by case and says what it finds first.
/// (The largest shape is left out: it is as slow as all others together.)
inline std::optional<std::string> host_suite(const SuiteImage& image, HostBug bug, bool deterministic = true) {
  std::vector<std::byte> run_1 = image.c_image, run_2 = image.c_image;
  const HostKernel kernel(image, bug);
  for (std::size_t i = 0; i < image.cases.size(); ++i) {
    const Problem& p = image.cases[i].problem;
    if (p.m * p.n * p.k > 5000000) continue;
    kernel.run(i, run_1);
    kernel.run_again(i, run_1, run_2);
    const auto fault = compare_case(image, i, run_1, run_2, deterministic);
    if (!fault) continue;
    const std::size_t bytes = size_bytes(image.type().output);
    const std::size_t at = std::size_t(image.rows[i].zone_slot + fault->slot) * bytes;
    return describe_fault(image, i, *fault, load_bits(image.type().output, run_1.data() + at),
        load_bits(image.type().output, run_2.data() + at));
  }
  return std::nullopt;
}

}  // namespace tilesmith::tuner
