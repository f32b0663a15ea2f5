#include "tuner/verify/exact_data.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tuner/verify/weights_data.hpp"

namespace tilesmith::tuner {
namespace {

using namespace verify;

// "Other" values are powers of two or small integers, so that scaling is exact. α·(odd sum) with α = −0.5 leaves
// halves: exact_limits() keeps one bit for them. The order spreads the combinations over consecutive suite problems.
constexpr Scales kFloatScales[] = {
    {1, 0}, {2, -1}, {1, 1}, {-0.5, 3}, {0, 0}, {-0.5, 0}, {0, 3}, {-1, 0.5}, {0, 1}, {2, 1}, {1, -1}};
// 1000003·sum leaves the range of s32: α·sum + β·c must wrap too.
constexpr Scales kIntegerScales[] = {
    {1, 0}, {3, -2}, {1, 1}, {-5, 7}, {0, 0}, {3, 0}, {0, -3}, {1000003, -1}, {0, 1}, {3, 1}, {1, -1}};
// Sums of 8-bit integers come to 5,476·√K; as f16 they must not overflow.
constexpr Scales kMadeRealScales[] = {{0x1p-9, 0}, {0x1p-8, -1}, {0x1p-9, 1}, {-0x1p-10, 3}, {0, 0}, {-0x1.8p-9, 0},
    {0, 3}, {-0x1p-9, 0.5}, {0, 1}, {0x1p-8, 1}, {0x1.4p-9, -1}};
constexpr int kLargestBlockScale = 2;  // of A and of B, so that the scales of neighbours differ by more than the sign
/// s8 with scales of blocks: their sums are of f32, which are multiplied by kMadeRealScales.
constexpr ExactLimits kScaledS8{2097152, 16777216, 120, kMadeRealRange};
constexpr Scales kRealScales[] = {{1, 0}, {1.25, -0.75}};

// 4·(1024 .. 2046) + {1, 3}, rounded to a multiple of 4.
constexpr double kWideMagnitude = 4.0 * 2047;
constexpr double kWideSumLimit = 8388608;  // 2^23, in multiples of 4: 2^21 steps, three bits to spare for α and β

/// Operands of f32 keep what tf32 rounds off: sums are multiples of 1, and have as many steps.
double wide_sum_limit(const TypePair& type) { return is_whole_f32(type.a) ? kWideSumLimit / 4 : kWideSumLimit; }

double depth_of(const Problem& problem) { return double(std::max<std::int64_t>(problem.k, 1)); }

int kind_of_integers(Scalar element) {
  switch (element) {
    case Scalar::s8: return kRuleS8;
    case Scalar::s4: return kRuleS4;
    case Scalar::u4: return kRuleU4;
    case Scalar::b1:
    case Scalar::b1xor: return kRuleBit;
    default: return kRuleU8;
  }
}

int whole(double value, int largest) { return int(std::clamp(std::floor(value), 1.0, double(largest))); }

/// Whether the activation squares and the output has a small range, so that |x| must stay small.
bool squares_into_narrow(const KernelSignature& signature) {
  return row_of(signature.epilogue.activation).curvature > 0 &&
         (signature.type.output == Scalar::f16 || has_byte_results(signature.type));
}

/// The most that α times the largest sum may be, so that D's type holds the results. A gate multiplies two of them,
/// beside a bias of a few: f16 holds 100·100, a byte most of 40·40. A square in f16: (150 + 3·16 + 8)² is within 65504.
/// Most sums are a sixth of the largest one: if the largest is 60, the squares of most are within 127, what a byte
/// holds. Long sums of u8, made f16, must not overflow.
double largest_that_fits(const KernelSignature& signature, Stage stage) {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  const bool bytes = has_byte_results(signature.type), real = makes_integers_real(signature.type),
             f16 = signature.type.output == Scalar::f16;
  if (signature.epilogue.is_gated()) return bytes ? 40 : real || f16 ? 100 : kAny;
  if (squares_into_narrow(signature)) return bytes ? 60 : 150;
  if (bytes) return real ? 400 : kAny;
  if (f16 && has_weights(signature) && stage == Stage::exact) return 32000;  // Their sums are of f32's size.
  return f16 && real ? 60000 : kAny;
}

StageRules rules_of_types(const Problem& problem, Stage stage, std::uint64_t seed) {
  const TypePair& type = problem.type;
  const auto seeded = [seed](std::uint64_t operand, int kind, int range = 1, std::int64_t group = 1) {
    return ValueRule{kind, range, group, mixed(seed, operand, 0)};
  };
  const bool by_block = problem.epilogue.has_block_scales();
  const bool real = stage == Stage::real || (makes_integers_real(type) && !by_block);
  const int largest_scale = by_block ? kLargestBlockScale : 1;
  const ValueRule scale_m = seeded(5, real ? kRuleUniform24 : kRuleIntegers, largest_scale),
                  scale_n = seeded(6, real ? kRuleUniform24 : kRuleIntegers, largest_scale);
  if (stage == Stage::real) {
    const int kind = type.a == Scalar::f64 ? kRuleUniform53 : kRuleUniform24,
              of_operands = by_block && is_integer(type.a) ? kRuleS8 : kind;
    return {seeded(1, of_operands), seeded(2, of_operands), seeded(3, kind), scale_m, scale_n, seeded(4, kind)};
  }
  if (is_integer(type.a) && !by_block) {
    const int kind = kind_of_integers(type.a), addends = real ? kRuleIntegers : kRuleS32,
              range = real ? kMadeRealRange : 1;
    return {seeded(1, kind), seeded(2, kind), seeded(3, addends, range), scale_m, scale_n, seeded(4, addends, range)};
  }
  ExactLimits limits = stage == Stage::wide_c ? wide_c_limits(type) : exact_limits(type);
  if (is_integer(type.a)) limits = kScaledS8;
  if (by_block) limits.sum_limit /= kLargestBlockScale * kLargestBlockScale;
  // Half of C's: bf16 then still has the bit for |2·sum| + |c| + |bias| ≤ 252.
  const ValueRule c = seeded(3, kRuleIntegers, limits.c_range),
                  bias = seeded(4, kRuleIntegers, std::max(limits.c_range / 2, 1));
  const double depth = depth_of(problem);
  if (stage == Stage::wide_a || stage == Stage::wide_b) {
    const ValueRule wide = seeded(1, kRuleWide),
                    narrow = seeded(2, kRuleIntegers, whole(wide_sum_limit(type) / kWideMagnitude / depth, 8));
    return {stage == Stage::wide_a ? wide : narrow, stage == Stage::wide_a ? narrow : wide, c, scale_m, scale_n, bias};
  }
  const auto group = std::int64_t(std::ceil(depth / limits.sum_limit));
  const double products = std::ceil(depth / double(group));
  const int range_b = whole(std::sqrt(limits.sum_limit / products), limits.operand_range);
  const int range_a = whole(limits.sum_limit / (products * range_b), limits.operand_range);
  const bool sparse_a = problem.m >= problem.n;
  return {seeded(1, kRuleIntegers, range_a, sparse_a ? group : 1),
      seeded(2, kRuleIntegers, range_b, sparse_a ? 1 : group), c, scale_m, scale_n, bias};
}

}  // namespace

std::string_view name(Stage stage) {
  constexpr std::string_view kNames[] = {
      "exact", "exact, A wider than tf32", "exact, B wider than tf32", "exact, C rounded", "real"};
  return kNames[int(stage)];
}

std::span<const Scales> exact_scales(const TypePair& type) {
  if (makes_integers_real(type)) return kMadeRealScales;
  if (is_integer(type.a)) return kIntegerScales;
  return kFloatScales;
}

std::span<const Scales> real_scales() { return kRealScales; }

ExactLimits exact_limits(const TypePair& type) {
  if (is_integer(type.a)) return {std::numeric_limits<double>::infinity(), 4294967296.0, 255, 0};
  // bf16 holds integers to 256, f16 and tf32 to 2048, e4m3 to 16, e5m2 to 8.
  const int operand_range = type.a == Scalar::f64    ? 1 << 20
                            : type.a == Scalar::e4m3 ? 16
                            : type.a == Scalar::e5m2 ? 8
                                                     : 120;
  const auto narrowest = [&](Scalar scalar) { return type.accumulator == scalar || type.output == scalar; };
  // bf16 has no bit to spare: |2·sum| + |c| ≤ 248, and where results come in halves |sum| + |c|/2 ≤ 124.
  // e4m3 holds integers to 16 and halves to 8: |2·sum| + |c| + |bias| ≤ 14, and |sum|/2 + 3·|c| + |bias| ≤ 7.
  if (type.output == Scalar::e4m3) return {6, 16, operand_range, 1};
  if (narrowest(Scalar::bf16)) return {120, 256, operand_range, 8};
  if (narrowest(Scalar::f16)) return {512, 2048, operand_range, 16};
  // Tensor cores keep 14 bits of sums of 8-bit floats.
  if (is_fp8(type.a)) return {4096, 16777216, operand_range, 1000};
  if (narrowest(Scalar::f32)) return {2097152, 16777216, operand_range, 1000};
  return {1125899906842624.0, 9007199254740992.0, operand_range, 1 << 20};  // f64: 2^50 of 2^53
}

ExactLimits wide_c_limits(const TypePair& type) {
  // An f16 must not overflow either: |2·sum| + |c| ≤ 65000.
  if (type.output == Scalar::f16) return {32000, 2048, 120, 1000};
  // Most results are within ±448, what lies beyond is stored as that.
  if (type.output == Scalar::e4m3) return {1024, 16, 16, 16};
  if (is_fp8(type.a)) return {4096, 256, exact_limits(type).operand_range, 250};
  return {2097152, 256, 120, 250};
}

const ValueRule& StageRules::of(OperandRole role) const {
  switch (role) {
    case OperandRole::a: return a;
    case OperandRole::b: return b;
    case OperandRole::scale_m: return scale_m;
    case OperandRole::scale_n: return scale_n;
    case OperandRole::bias: return bias;
    default: return c;
  }
}

verify::EpilogueRule epilogue_rule(const KernelSignature& signature, const StageRules& rules) {
  const Epilogue& epilogue = signature.epilogue;
  return {int(epilogue.scale_m), int(epilogue.scale_n), int(epilogue.bias), epilogue.bias_is_f32 ? 1 : 0,
      int(epilogue.activation), int(row_of(epilogue.activation).gate), is_integer(signature.type.scale) ? 1 : 0,
      rules.scale_m, rules.scale_n, rules.bias};
}

verify::BlockScaleRule block_scale_rule(
    const Problem& problem, const StageRules& rules, std::int64_t a, std::int64_t b, std::int64_t first_row) {
  const Epilogue& epilogue = problem.epilogue;
  const bool by_block = epilogue.has_block_scales();
  const auto matrix = [&](OperandRole role, std::int64_t number) {
    return by_block && operand(problem, role).entry_stride > 0 ? number : 0;
  };
  return {by_block ? int(epilogue.scale_m) : 0, by_block ? int(epilogue.scale_n) : 0, matrix(OperandRole::scale_m, a),
      matrix(OperandRole::scale_n, b), first_row, problem.m, problem.n, problem.k, rules.scale_m, rules.scale_n};
}

bool is_exact(const KernelSignature& signature) {
  return is_exact(signature.epilogue.activation) && !makes_integers_real(signature.type);
}

bool rounds_output(const TypePair& type) { return size_bytes(type.output) < size_bytes(type.accumulator); }

bool stage_applies(const Problem& problem, Stage stage) {
  const TypePair& type = problem.type;
  if (has_weights(problem)) return stage == Stage::exact || stage == Stage::real;
  switch (stage) {
    case Stage::exact: return true;
    case Stage::wide_a:
    case Stage::wide_b:
      return (type.a == Scalar::tf32 || is_whole_f32(type.a)) &&
             kWideMagnitude * double(problem.k) <= wide_sum_limit(type);
    case Stage::wide_c: {
      if (!rounds_output(type) || is_integer(type.a)) return false;
      // A sum's standard deviation is about sum_limit / (3·√k). Up to here one result in a few hundred or more lies
      // beyond what the output holds; deeper, too few would be rounded to prove anything.
      const ExactLimits limits = wide_c_limits(type);
      return limits.largest_exact * std::sqrt(double(problem.k)) <= limits.sum_limit;
    }
    case Stage::real: return !is_integer(type.a) || problem.epilogue.has_block_scales();
  }
  return false;
}

double largest_sum(const Problem& problem, Stage stage) {
  const TypePair& type = problem.type;
  const double depth = depth_of(problem);
  if (has_weights(problem) && stage == Stage::exact) return largest_sum_of_weights(problem);
  if (stage == Stage::real) return 2.2 * largest_real_product(problem) * std::sqrt(depth);
  if (is_integer(type.a) && problem.epilogue.has_block_scales()) return kScaledS8.sum_limit;
  if (is_integer(type.a)) return type.a == Scalar::u8 ? 255.0 * 255 * depth : 36000 * std::sqrt(depth);
  if (stage == Stage::wide_a || stage == Stage::wide_b) return wide_sum_limit(type);
  return (stage == Stage::wide_c ? wide_c_limits(type) : exact_limits(type)).sum_limit;
}

double largest_real_product(const KernelSignature& signature) {
  if (!is_integer(signature.type.a)) return 1;
  return signature.epilogue.has_block_scales() ? kLargestS8 * kLargestS8 : kLargestS8;  // weights are at most 1
}

Scales fitting_scales(const Problem& problem, Stage stage, Scales scales) {
  if (problem.epilogue.is_gated()) scales.beta = 0;
  const double largest = largest_that_fits(problem, stage);
  while (std::abs(scales.alpha) * largest_sum(problem, stage) > largest) scales.alpha /= 2;
  return scales;
}

StageRules stage_rules(const Problem& problem, Stage stage, std::uint64_t seed) {
  StageRules rules = rules_of_types(problem, stage, seed);
  if (has_weights(problem)) fit_to_weights(problem, stage, rules);
  // What is multiplied by y, or opens the gate for it, is of the sums' own size, so that a wrong one shows.
  const bool integers = rules.bias.kind == kRuleIntegers, squares = squares_into_narrow(problem);
  if (integers && (problem.epilogue.is_gated() || squares)) rules.bias.range = std::min(rules.bias.range, 8);
  if (integers && squares) rules.c.range = std::min(rules.c.range, 16);
  return rules;
}

}  // namespace tilesmith::tuner
