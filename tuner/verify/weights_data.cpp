#include "tuner/verify/weights_data.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "kernels/problem/weights.hpp"
#include "tuner/verify/number_formats.hpp"

namespace tilesmith::tuner {

using namespace verify;

namespace {

// Sums of up to 2^21: α halves them, and f32 has three bits to spare for α and β·C.
constexpr double kWeightsSums = 2097152;
constexpr int kWeightsOperandRange = 120, kWeightsAddends = 250;
// Of 8-bit floats tensor cores keep 14 bits of a sum, here of 128 products with codes of up to 15.
constexpr int kFloatsOfByteRange = 2;

bool is_for_bytes(const KernelSignature& signature) { return size_bytes(signature.type.a) == 1; }
int operand_range(const KernelSignature& signature) {
  return is_fp8(signature.type.a) ? kFloatsOfByteRange : kWeightsOperandRange;
}

int kind_of(const KernelSignature& signature) {
  const bool of_bf16 = signature.weights.type == WeightType::nf4 && signature.type.a == Scalar::bf16;
  if (is_k_quant(signature.weights.type))
    return signature.weights.type == WeightType::q4_k ? int(kQ4kWeights) : int(kQ6kWeights);
  return of_bf16 ? int(kNf4OfBf16Weights) : int(signature.weights.type);
}
static_assert(int(WeightType::s4) == kS4Weights && int(WeightType::u4) == kU4Weights &&
              int(WeightType::s8) == kS8Weights && int(WeightType::e4m3) == kE4m3Weights &&
              int(WeightType::e2m1) == kE2m1Weights && int(WeightType::nf4) == kNf4Weights);

/// Of exact weights the largest, and of real ones the root mean square; without zeros and with them.
struct Figures {
  double largest, largest_with_zeros, rms, rms_with_zeros;
};
constexpr Figures kFigures[] = {{0, 0, 0, 0},  // none
    {4 * 8, 4 * 15, 0.18, 0.25},               // s4
    {4 * 15, 4 * 15, 0.34, 0.25},              // u4
    {2 * 128, 2 * 131, 0.18, 0.25},            // s8
    {4 * 16, 4 * 19, 0.13, 0.13},              // e4m3
    {4 * 12, 4 * 12, 0.23, 0.23},              // e2m1
    {2 * 16384, 2 * 16384, 0.33, 0.33},        // nf4 of f16
    {0, 63 * 15, 0, 0.21},                     // q4_k
    {0, 31 * 32, 0, 0.21}};                    // q6_k
static_assert(std::size(kFigures) == std::size_t(WeightType::q6_k) + 1);

const Figures& figures(const KernelSignature& signature) { return kFigures[std::size_t(signature.weights.type)]; }

}  // namespace

double largest_weight(const KernelSignature& signature) {
  if (kind_of(signature) == kNf4OfBf16Weights) return 4 * 2048;
  return signature.weights.zeros ? figures(signature).largest_with_zeros : figures(signature).largest;
}

double rms_weight(const KernelSignature& signature) {
  return signature.weights.zeros ? figures(signature).rms_with_zeros : figures(signature).rms;
}

double largest_sum_of_weights(const Problem& problem) {
  return std::min(
      kWeightsSums, double(std::max<std::int64_t>(problem.k, 1)) * operand_range(problem) * largest_weight(problem));
}

void fit_to_weights(const Problem& problem, Stage stage, StageRules& rules) {
  rules.a.group = rules.b.group = 1;
  const bool integers = is_integer(problem.type.a);
  if (integers) rules.a.kind = stage == Stage::real ? kRuleS8 : kRuleIntegers;
  if (stage == Stage::real) return;
  rules.c.range = kWeightsAddends;
  rules.bias.range = kWeightsAddends / 2;
  const double depth = double(std::max<std::int64_t>(problem.k, 1)), largest = largest_weight(problem);
  const auto group = std::int64_t(std::ceil(depth * largest / kWeightsSums));
  const double products = std::ceil(depth / double(group));
  rules.a.range = int(std::clamp(std::floor(kWeightsSums / (products * largest)), 1.0, double(operand_range(problem))));
  (problem.m >= problem.n ? rules.a : rules.b).group = group;
}

WeightsRule weights_rule(const Problem& problem, Stage stage, const StageRules& rules) {
  const Weights& weights = problem.weights;
  return {kind_of(problem), weights.zeros ? 1 : 0, stage == Stage::real ? 1 : 0, is_for_bytes(problem) ? 1 : 0,
      weights.group == 0 ? std::max<std::int64_t>(1, problem.k) : weights.group, rules.b};
}

void put_weights(const Problem& problem, OperandRole role, const WeightsRule& rule, std::byte* first) {
  const OperandMatrix matrix = operand(problem, role);
  if (role == OperandRole::b) {
    const std::int64_t bytes = matrix.bytes();
    for (std::int64_t byte = 0; byte < bytes; ++byte)
      first[byte] = std::byte(weights_byte(rule, byte, problem.n, problem.k));
    return;
  }
  for (std::int64_t index = 0; index < matrix.matrices() * matrix.rows * matrix.cols; ++index) {
    const double value = weight_term_of(rule, role == OperandRole::weight_zeros, index, matrix.rows, matrix.cols);
    encode(matrix.element, value, first + std::size_t(index) * size_bytes(matrix.element));
  }
}

std::vector<double> weights_of_rows(const Problem& problem, std::int64_t first, std::int64_t rows,
    const std::byte* blocks, const std::byte* scales, const std::byte* zeros) {
  const int kind = kind_of(problem);
  std::array<double, 256> values;
  for (int code = 0; code < 1 << bits_of_code(kind); ++code) values[std::size_t(code)] = code_value(kind, code);
  const OperandMatrix terms = operand(problem, OperandRole::weight_scales);
  const std::int64_t k = problem.k,
                     group = problem.weights.group == 0 ? std::max<std::int64_t>(1, k) : problem.weights.group;
  const std::size_t term_bytes = size_bytes(terms.element);
  std::vector<double> all(std::size_t(rows * k));
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t n = first + row, of_block = first % kCodeBlockRows + row;
    double scale = 0, zero = 0, minimum = 0;
    for (std::int64_t column = 0; column < k; ++column) {
      if (column % group == 0 && kind == kQ4kWeights) {
        const auto pair = [&](std::int64_t columns) { return std::size_t(column / columns * terms.cols + 2 * n); };
        const std::byte* const factors = zeros + 2 * pair(256);
        scale = decode(Scalar::f16, factors) * int(scales[pair(32)]);
        minimum = decode(Scalar::f16, factors + 2) * int(scales[pair(32) + 1]);
      } else if (column % group == 0 && kind == kQ6kWeights) {
        const std::size_t four = std::size_t(column / 64 * terms.cols + 4 * n);
        scale = decode(Scalar::f16, zeros + 2 * std::size_t(column / 256 * (terms.cols / 4) + n)) *
                decode(terms.element, scales + four + std::size_t(column / 16 % 4));
      } else if (column % group == 0) {
        const std::size_t term = std::size_t(column / group * terms.row_stride + n) * term_bytes;
        scale = decode(terms.element, scales + term);
        zero = zeros == nullptr ? 0 : decode(terms.element, zeros + term);
      }
      const int code = stored_code(
          kind, is_for_bytes(problem) ? 1 : 0, reinterpret_cast<const unsigned char*>(blocks), of_block, column, k);
      all[std::size_t(row * k + column)] = scale * (values[std::size_t(code)] - zero) - minimum;
    }
  }
  return all;
}

OpMatrix multiplied_weights(
    const Problem& problem, const std::byte* codes, const std::byte* scales, const std::byte* zeros) {
  const std::vector<double> rows = weights_of_rows(problem, 0, problem.n, codes, scales, zeros);
  OpMatrix op{problem.k, problem.n, {}};
  op.values.resize(rows.size());
  for (std::int64_t n = 0; n < problem.n; ++n) {
    for (std::int64_t k = 0; k < problem.k; ++k)
      op.values[std::size_t(k * problem.n + n)] = rows[std::size_t(n * problem.k + k)];
  }
  return op;
}

}  // namespace tilesmith::tuner
