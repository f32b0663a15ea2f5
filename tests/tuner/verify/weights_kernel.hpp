// A product with weights played on the host, over the suite's own memory image: right, or with one of the bugs that
// such kernels have. It reads codes by kernels/shared/multiply/weights_layout.cuh, which the suite does not.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/shared/multiply/codebook.cuh"
#include "kernels/shared/multiply/k_quants_layout.cuh"
#include "kernels/shared/multiply/weights_layout8.cuh"
#include "tests/tuner/verify/host_kernel.hpp"
#include "tuner/verify/weights_data.hpp"

namespace tilesmith::tuner {

enum class WeightsBug {
  none,
  rounds_weights,   ///< to A's type: no bug
  scales_sums,      ///< of each group, before they are added up: no bug
  swaps_nibbles,    ///< of a byte
  swaps_pairs,      ///< lo and hi
  swaps_halves,     ///< rows g and g + 8 of a block
  group_too_early,  ///< a group's last column has the next one's scale
  group_too_late,
  last_group,  ///< its scale for all
  adds_zero,   ///< instead of taking it off
  ignores_zero,
  neighbours_scale,  ///< of the row behind
  neighbours_zero,
  ignores_offset,     ///< takes codes of signed elements for unsigned ones
  counts_padding,     ///< reads A up to the end of a block
  truncates_weights,  ///< to A's type
  sums_in_output,
  neighbours_entry,     ///< of nf4: value 11 for 10
  entry_off_by_a_unit,  ///< of nf4: value 3, in A's last place
  mirrored_table,       ///< of nf4: value 15 - i for i
  unrounded_table,      ///< of nf4: f32
  ignores_sign,         ///< of e2m1
  loses_half,           ///< of e2m1: 0.5 is 0, as subnormals that are flushed
  loses_factor,         ///< of e2m1, in upper halves of pairs: 2^14 too small
  largest_too_large,    ///< of e2m1: 8 for 6
  ignores_fraction,     ///< of e2m1: 1 for 1.5, 2 for 3
  // of several experts
  neighbours_codes,       ///< the codes of the expert behind
  experts_scale,          ///< its scales
  first_experts_zeros,    ///< those of expert 0 for all
  packed_experts,         ///< codes lie without padding to 16 rows
  scales_as_codes,        ///< scales lie padded, as codes do
  rows_of_expert_before,  ///< a group's first row is multiplied by the weights of the one before
  counts_empty_experts,   ///< an expert without rows takes no weights
  // of Q4_K
  adds_minimum,  ///< instead of taking it off
  ignores_minimum,
  early_minimum,         ///< of the group before
  late_minimum,          ///< of the group behind
  late_scale,            ///< the same of scales
  next_super,            ///< d and dmin of the 256 columns behind
  first_super,           ///< those of the first 256 for all
  super_of_step,         ///< they change every 512 columns
  neighbours_super,      ///< those of the row behind
  swaps_factors,         ///< d and dmin
  swaps_pair,            ///< scale and minimum
  drops_high_bits,       ///< of scales, which have 6
  minimum_without_dmin,  ///< times d
  minimum_once,          ///< times the first of a group's elements of A, not their sum
  // of Q6_K
  neighbours_upper_bits,  ///< the upper two of the lane beside
  drops_upper_bits,
  unsigned_scale,
  scale_of_pair,  ///< 32 columns have the scale of their first 16
};

/// What a code stands for, or what a bug makes of it. `k`: its column.
inline double codebook_of(WeightType type, Scalar a, int code, std::int64_t k, WeightsBug bug) {
  if (type == WeightType::nf4) {
    if (bug == WeightsBug::neighbours_entry && code == 10) code = 11;
    if (bug == WeightsBug::mirrored_table) code = 15 - code;
    if (bug == WeightsBug::unrounded_table) return nf4_value(code);
    const double value = rounded(a, nf4_value(code));
    return value +
           (bug == WeightsBug::entry_off_by_a_unit && code == 3 ? std::ldexp(1, a == Scalar::bf16 ? -9 : -12) : 0);
  }
  constexpr double kMagnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  double magnitude = kMagnitudes[code & 7];
  if (bug == WeightsBug::loses_half && magnitude == 0.5) magnitude = 0;
  if (bug == WeightsBug::largest_too_large && magnitude == 6) magnitude = 8;
  if (bug == WeightsBug::ignores_fraction) magnitude = kMagnitudes[code & 6];
  if (bug == WeightsBug::loses_factor && k % 2 == 1) magnitude = std::ldexp(magnitude, -14);
  return (code & 8) != 0 && bug != WeightsBug::ignores_sign ? -magnitude : magnitude;
}

class WeightsKernel {
 public:
  WeightsKernel(const SuiteImage& image, WeightsBug bug) : image_(image), bug_(bug) {}

  void run(std::size_t index, std::vector<std::byte>& d) const {
    const SuiteCase& of = image_.cases[index];
    const Problem& p = of.problem;
    const bool multiplies = of.scales.alpha != 0 && p.k > 0;
    const std::int64_t columns = code_block_columns(bits(p));
    const std::int64_t depth = !multiplies                          ? 0
                               : bug_ == WeightsBug::counts_padding ? (p.k + columns - 1) / columns * columns
                                                                    : p.k;
    if (p.batch_mode != BatchMode::grouped) return run_rows(index, d, 0, {0, p.m}, depth);
    const std::vector<GroupRows> groups = rows_of_groups(of.ends, p.m);
    std::int64_t with_rows = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      GroupRows rows = groups[g];
      if (rows.begin == rows.end) continue;
      const std::int64_t expert = bug_ == WeightsBug::counts_empty_experts ? with_rows++ : std::int64_t(g);
      run_rows(index, d, expert, rows, depth);
      if (bug_ == WeightsBug::rows_of_expert_before && g > 0)
        run_rows(index, d, expert - 1, {rows.begin, rows.begin + 1}, depth);
    }
  }

 private:
  void run_rows(std::size_t index, std::vector<std::byte>& d, std::int64_t expert, const GroupRows& rows,
      std::int64_t depth) const {
    const Problem& p = image_.cases[index].problem;
    std::vector<double> w(std::size_t(p.n * depth)), scales(w.size()), minima(w.size());
    for (std::int64_t n = 0; n < p.n; ++n) {
      for (std::int64_t k = 0; k < depth; ++k) {
        const auto at = std::size_t(n * depth + k);
        w[at] = is_k_quant(p.weights.type) ? k_quant_weight(index, expert, n, k, scales[at], minima[at])
                                           : weight(index, expert, n, k, scales[at]);
      }
    }
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      std::vector<double> a;
      for (std::int64_t k = 0; k < depth; ++k)
        a.push_back(decode(p.type.a,
            at(index, OperandRole::a) + std::size_t(p.trans.a ? k * p.lda + i : i * p.lda + k) * size_bytes(p.type.a)));
      for (std::int64_t j = 0; j < p.n; ++j)
        write(index, d, i, j, sum_of(p, a, w.data() + j * depth, scales.data() + j * depth, minima.data() + j * depth));
    }
  }

  int bits(const Problem& p) const { return int(size_bits(operand(p, OperandRole::b).element)); }
  const std::byte* at(std::size_t index, OperandRole role) const {
    return image_.operands.data() + image_.bytes_at[role][index];
  }

  double term(std::size_t index, OperandRole role, std::int64_t expert, std::int64_t group, std::int64_t n) const {
    const Problem& p = image_.cases[index].problem;
    const OperandMatrix terms = operand(p, role);
    if (bug_ == WeightsBug::experts_scale && role == OperandRole::weight_scales) expert = (expert + 1) % p.batch;
    if (bug_ == WeightsBug::first_experts_zeros && role == OperandRole::weight_zeros) expert = 0;
    const std::int64_t row = bug_ == WeightsBug::scales_as_codes ? (terms.cols + 15) / 16 * 16 : terms.cols;
    const std::int64_t place =
        std::min(expert * terms.rows * row, (p.batch - 1) * terms.entry_stride) + group * terms.cols + n;
    return decode(terms.element, at(index, role) + std::size_t(place) * size_bytes(terms.element));
  }

  /// With its scale; where sums are scaled, without it.
  double weight(std::size_t index, std::int64_t expert, std::int64_t n, std::int64_t k, double& scale) const {
    const Problem& p = image_.cases[index].problem;
    const WeightType type = p.weights.type;
    const std::int64_t groups = operand(p, OperandRole::weight_scales).rows,
                       length = p.weights.group == 0 ? std::max<std::int64_t>(1, p.k) : p.weights.group;
    std::int64_t row = n, column = k, group = k / length;
    if (bug_ == WeightsBug::swaps_halves) row = (n ^ 8) < p.n ? n ^ 8 : n;
    if (bug_ == WeightsBug::swaps_pairs) column = (k ^ 1) < p.k ? k ^ 1 : k;
    if (bug_ == WeightsBug::group_too_early) group = (k + 1) / length;
    if (bug_ == WeightsBug::group_too_late) group = (k == 0 ? 0 : k - 1) / length;
    if (bug_ == WeightsBug::last_group) group = groups - 1;
    group = std::min(group, groups - 1);
    CodePlace place = size_bytes(p.type.a) == 1 ? code_place8(row, column, p.k) : code_place(bits(p), row, column, p.k);
    if (bug_ == WeightsBug::swaps_nibbles && bits(p) == 4) place.shift ^= 4;
    std::int64_t of_codes = bug_ == WeightsBug::neighbours_codes ? (expert + 1) % p.batch : expert;
    of_codes *= bug_ == WeightsBug::packed_experts ? p.n * p.k * bits(p) / 8 : code_bytes(bits(p), p.n, p.k);
    const int code = int(at(index, OperandRole::b)[of_codes + place.byte]) >> place.shift & ((1 << bits(p)) - 1);
    double value = type == WeightType::e4m3 ? from_fp8(Scalar::e4m3, std::uint8_t(code))
                   : is_codebook(type)      ? codebook_of(type, p.type.a, code, k, bug_)
                                            : code;
    if (bug_ != WeightsBug::ignores_offset) value -= type == WeightType::s4 ? 8 : type == WeightType::s8 ? 128 : 0;
    if (p.weights.zeros && bug_ != WeightsBug::ignores_zero) {
      const double zero = term(
          index, OperandRole::weight_zeros, expert, group, bug_ == WeightsBug::neighbours_zero ? (n + 1) % p.n : n);
      value += bug_ == WeightsBug::adds_zero ? zero : -zero;
    }
    scale = term(
        index, OperandRole::weight_scales, expert, group, bug_ == WeightsBug::neighbours_scale ? (n + 1) % p.n : n);
    if (bug_ == WeightsBug::scales_sums) return value;
    if (bug_ == WeightsBug::rounds_weights) return rounded(p.type.a, scale * value);
    if (bug_ == WeightsBug::truncates_weights) return truncated(p.type.a, scale * value);
    return scale * value;
  }

  /// The code, of Q6_K less 32.
  int k_quant_code(std::size_t index, std::int64_t expert, std::int64_t n, std::int64_t k) const {
    const Problem& p = image_.cases[index].problem;
    const bool q6k = p.weights.type == WeightType::q6_k;
    const int code_bits = q6k ? 6 : 4;
    std::int64_t row = n, column = k;
    if (bug_ == WeightsBug::swaps_halves) row = (n ^ 8) < p.n ? n ^ 8 : n;
    if (bug_ == WeightsBug::swaps_pairs) column = k ^ 1;
    CodePlace place = q6k ? six_bit_place(row, column, p.k).lower : code_place(4, row, column, p.k);
    if (bug_ == WeightsBug::swaps_nibbles) place.shift ^= 4;
    std::int64_t of_codes = bug_ == WeightsBug::neighbours_codes ? (expert + 1) % p.batch : expert;
    of_codes *= bug_ == WeightsBug::packed_experts ? p.n * p.k * code_bits / 8 : all_code_bytes(code_bits, p.n, p.k);
    const std::byte* const codes = at(index, OperandRole::b) + of_codes;
    const int lower = int(codes[place.byte]) >> place.shift & 15;
    if (!q6k) return lower;
    const CodePlace upper =
        six_bit_place(row, bug_ == WeightsBug::neighbours_upper_bits ? column ^ 2 : column, p.k).upper;
    const int high = bug_ == WeightsBug::drops_upper_bits ? 0 : int(codes[upper.byte]) >> upper.shift & 3;
    return lower + 16 * high - (bug_ == WeightsBug::ignores_offset ? 0 : 32);
  }

  /// The same of K-quants: where sums are scaled the code, with its scale and minimum.
  double k_quant_weight(
      std::size_t index, std::int64_t expert, std::int64_t n, std::int64_t k, double& scale, double& minimum) const {
    const Problem& p = image_.cases[index].problem;
    const bool q6k = p.weights.type == WeightType::q6_k;
    const std::int64_t groups = p.k / p.weights.group, supers = p.k / 256, group = k / p.weights.group;
    const int code = k_quant_code(index, expert, n, k);
    const auto scales_of = [&](std::int64_t of_group) {  // scale and minimum, or the scale
      const std::int64_t of = bug_ == WeightsBug::experts_scale ? (expert + 1) % p.batch : expert,
                         of_row = bug_ == WeightsBug::neighbours_scale ? (n + 1) % p.n : n;
      of_group = std::min(std::max<std::int64_t>(of_group, 0), groups - 1);
      return at(index, OperandRole::weight_scales) +
             (q6k ? ((of * groups + of_group / 4 * 4) * p.n + 4 * of_row) + of_group % 4
                  : 2 * ((of * groups + of_group) * p.n + of_row));
    };
    std::int64_t super = k / 256;
    if (bug_ == WeightsBug::next_super) super = std::min(super + 1, supers - 1);
    if (bug_ == WeightsBug::first_super) super = 0;
    if (bug_ == WeightsBug::super_of_step) super = super / 2;
    const std::int64_t of = bug_ == WeightsBug::first_experts_zeros ? 0 : expert,
                       of_row = bug_ == WeightsBug::neighbours_super ? (n + 1) % p.n : n;
    const std::byte* const factors =
        at(index, OperandRole::weight_zeros) + (q6k ? 2 : 4) * ((of * supers + super) * p.n + of_row);
    double d = decode(Scalar::f16, factors), dmin = q6k ? 0 : decode(Scalar::f16, factors + 2);
    if (bug_ == WeightsBug::swaps_factors) std::swap(d, dmin);
    if (bug_ == WeightsBug::minimum_without_dmin) dmin = d;
    std::int64_t of_minimum = group;
    if (bug_ == WeightsBug::early_minimum) --of_minimum;
    if (bug_ == WeightsBug::late_minimum) ++of_minimum;
    const std::int64_t of_scale = bug_ == WeightsBug::late_scale      ? group + 1
                                  : bug_ == WeightsBug::scale_of_pair ? group / 2 * 2
                                                                      : group;
    int s = int(scales_of(of_scale)[0]), m = q6k ? 0 : int(scales_of(of_minimum)[1]);
    if (q6k && bug_ != WeightsBug::unsigned_scale) s = (signed char)s;
    if (bug_ == WeightsBug::swaps_pair) std::swap(s, m);
    if (bug_ == WeightsBug::drops_high_bits) s &= 15;
    scale = d * s;
    minimum = bug_ == WeightsBug::ignores_minimum ? 0 : bug_ == WeightsBug::adds_minimum ? -dmin * m : dmin * m;
    if (bug_ == WeightsBug::scales_sums || bug_ == WeightsBug::minimum_once) return code;
    const double w = scale * code - minimum;
    return bug_ == WeightsBug::rounds_weights ? rounded(p.type.a, w) : w;
  }

  double sum_of(const Problem& p, const std::vector<double>& a, const double* w, const double* scales,
      const double* minima) const {
    const Scalar accumulator = bug_ == WeightsBug::sums_in_output ? p.type.output : Scalar::f32;
    double sum = 0, of_group = 0, of_a = 0;
    for (std::size_t k = 0; k < a.size(); ++k) {
      if (bug_ != WeightsBug::scales_sums && bug_ != WeightsBug::minimum_once) {
        sum = accumulated(accumulator, sum, a[k] * w[k]);
        continue;
      }
      of_group = accumulated(accumulator, of_group, a[k] * w[k]);
      if (bug_ == WeightsBug::scales_sums || k % 32 == 0) of_a = accumulated(accumulator, of_a, a[k]);
      const bool ends = k + 1 == a.size() || (p.weights.group != 0 && (k + 1) % std::size_t(p.weights.group) == 0);
      if (!ends) continue;
      sum = accumulated(accumulator, sum, scales[k] * of_group);
      sum = accumulated(accumulator, sum, -minima[k] * of_a);
      of_group = of_a = 0;
    }
    return sum;
  }

  void write(std::size_t index, std::vector<std::byte>& d, std::int64_t i, std::int64_t j, double sum) const {
    const SuiteCase& of = image_.cases[index];
    const Scalar output = image_.type().output;
    const std::size_t place = std::size_t(i * of.problem.ldc + j) * size_bytes(output);
    std::byte* const element = d.data() + image_.c_bytes_at(index) + place;
    const std::byte* const held = of.in_place ? element : at(index, OperandRole::c) + place;
    encode(output, scaled(image_.type(), of.scales, sum, of.scales.beta == 0 ? 0 : decode(output, held)), element);
  }

  const SuiteImage& image_;
  WeightsBug bug_;
};

/// What the suite finds first. The largest shapes are left out.
inline std::optional<std::string> host_weights_suite(const SuiteImage& image, WeightsBug bug) {
  std::vector<std::byte> run = image.c_image;
  const WeightsKernel kernel(image, bug);
  for (std::size_t i = 0; i < image.cases.size(); ++i) {
    const Problem& p = image.cases[i].problem;
    if (p.m * p.n * p.k > 3000000 || p.n * p.k > 300000) continue;
    kernel.run(i, run);
    const auto fault = compare_case(image, i, run, run, true);
    if (!fault) continue;
    const std::uint64_t bits = load_bits(image.type().output,
        run.data() + std::size_t(image.rows[i].zone_slot + fault->slot) * size_bytes(image.type().output));
    return describe_fault(image, i, *fault, bits, bits);
  }
  return std::nullopt;
}

}  // namespace tilesmith::tuner
