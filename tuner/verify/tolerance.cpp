// Bounds for real-valued data.
//
// Operands uniform in [-1, 1] give products of variance 1/9, so a dot product of depth K is near normal with standard
// deviation √K/3; over the 10^8 elements of a large C its partial sums stay within about 6.5 of those: |s| ≤ 2.2·√K.
// The classical worst case K·u·Σ|a||b| is useless here: for an f16 accumulator K·u passes 1 at K = 2048. The bounds
// below follow how the hardware adds instead, and leave a margin of about ten over the errors one expects of it.
//
//   f32 accumulator  A tensor core adds 4 or more products at a time to the running sum and truncates, so its errors
//                    have one sign and grow linearly: at most K/4 steps of one to two units, 2^-23·|s| each, with |s|
//                    about √K along the path of even an extreme element. Bound: 2^-22·(K/4 + 16)·√K. FMA chains that
//                    round to nearest stay far below it. At K = 4096 it is 0.016, where one product left out is worth
//                    0.33 (rms).
//   the same, f32 operands   Only FMA multiplies f32: each product is added exactly and the sum rounded to nearest. That is the walk
//                    of f16 below with 2^-23: 2^-22·(√K + 8)·√K. At K = 4096 it is 0.0011. Operands rounded to tf32 are
//                    each off by 1.1·10^-4 (rms), so sums by 8.7·10^-5·√K: 0.0056 at K = 4096; at K = 16 0.00035, 30
//                    times the bound.
//   the same, f32 as three tf32   Each product is off by at most 2^-21 of itself, by either sign: within the 8 of the walk above. A
//                    tensor core truncates the products of up to 128 of K, in 3·128/8 steps of a unit of 2^-23·|s|
//                    each, where |s| follows the part and not the whole sum. By one sign within a part and by either
//                    among parts, that makes a walk of K/128 steps of 2^-23·24·√128: 2^-22·12·√K (two units a step,
//                    24). Between them it rounds to nearest, as above, fewer times. Bound: 2^-22·(√K + 32)·√K. At K =
//                    4096 it is 0.0015. A small part lost is worth 6·10^-5·√K (rms), 0.004 there.
//   f16 accumulator  Rounded to nearest up to once a product, so errors are a random walk: each step is uniform within
//                    half a unit of 2^-10·|s_j|, and with |s_j| following √j/3 their sum has a standard deviation of
//                    2^-10·K/15; an extreme path with an extreme walk (4.3 deviations each, 10^-8 together) reaches
//                    2^-10·0.8·K. Bound: 2^-10·(√K + 4)·√K. At K = 200, 0.25: one product left out still shows in a
//                    tile; at K = 4096, 4.3: what is missing must be 16 products or so. The exact stage sees each one.
//   the same, 8-bit floats   A tensor core keeps 14 bits of the running sum, and of each product as many above the largest of 32;
//                    all are truncated. Bound: 2^-12·((K/32 + 16)·√K + K). The exact stage sees what is left out.
//   f64 accumulator  The same walk with 2^-52, for the kernel and once more for the reference: 2^-51·(√K + 8)·√K.
//
// To that come the rounding of α·acc and of β·c (|c| ≤ 1) in the scale type, which is covered by the constants, and the
// rounding of the output, relative to the result: one unit (twice the half unit of rounding to nearest). Where the
// output is narrower than the accumulator, its one rounding stands far above all others: then the half unit itself, so
// that truncation (up to one unit) or a second rounding shows.
//
// Weights w = s·(v − z), |w| ≤ 1, of a root mean square ρ (rms_weight()). The sum is bounded as one of f16 operands
// above, which are larger: that is (K + c)·2^-24·Σ|a||w| with the sum that such operands come to. A kernel may round
// s·(v − z) to A's type. v − z is exact there, so a weight is off by u = 2^-11 (f16) or 2^-8 (bf16) of itself at most,
// and a product by u·|a||w|. Over a sum these are of either sign: a deviation of 0.42·u·ρ/√3 each (the rounding of a
// significand that lies anywhere). 7 deviations of √K of them are 1.7·u·ρ·√K. Where K is small it is u·|w| each. Bound:
// u·(1.75·ρ·√K + 2). Values of e2m1 and nf4 have A's type (those of nf4 are what the table's come to in it), so that
// s·v is the one rounding there, too: |v| ≤ 6 with |s| ≤ 1/8, and |v| ≤ 1. Of e4m3 with zeros v − z is rounded too:
// twice that. Beside an A of 8 bits codes are multiplied as they are, and sums of a group by its scale, in f32: the
// bound is that of 8-bit floats alone, or, of s8, whose sums of a group are exact, that of f16 operands for elements of
// up to 128. Weights of Q4_K and Q6_K are not rounded: d·s, dmin·m and d·s·code are exact in f32. What is summed,
// d·s·code and dmin·m, is at most 1/2 each (of Q6_K d·s·code, at most 1), so that the bound is that of f16 operands
// alone. `dequant` adds a bias of up to 1024 to codes of Q4_K and takes it off again: what it adds up is up to 69 times
// as large, and is rounded as f32, to 2^-18 of a product. The bound has no term for this. A product left out is worth
// ρ/√3; at
// K = 4096 of s4 in f16 it is 0.1 and the bound of weights 0.011.
//
// Scales (|r|, |c| ≤ 1) make errors no larger, and are two roundings more, which the constants cover.
//
// Integers that become real. Their sums are exact; s8 operands make them 5,476·√K (standard deviation), and over 10^8
// elements they stay below 6.5 times that; of u8 they are 255²·K at most. As f32 a sum is rounded, and once more for
// each of α, two scales, β·c, the bias and their sums: 2^-22 of the largest of them in all. Then the output is, by half
// a unit; f32, which is as wide as the sums, by no more than that.
//
// s8 with scales of blocks of K. Sums of 128 products are exact, or each product is rounded; from then on they are added
// up in f32, to nearest. The bound is that of f32 operands, for elements of up to 128.
//
// Results of a byte. Of s8 the step is 1, and rounding is off by half of it, whatever the result; of e4m3 half a unit,
// and half the least step, 2^-9, where the result is small. What they cannot hold is the nearest end, in the reference
// too, which makes no error larger.
//
// Behind a bias or an activation. The bias (|bias| ≤ 1) is rounded once more, as β·c is. An error before an activation
// grows by its steepest slope, 1.13 of gelu and silu. These are computed in the scale type from e^x, a quotient and erf
// of about two units each, and where x < 0 from 1 + erf, which cancels. To the last bit that is 16 units of 1, 2^-19,
// where the result is small (|x| ≤ 6 there; beyond, gelu and silu are nothing), and half of that, relative to the
// result, elsewhere. The exact stages allow that and half a unit of the output (a whole one where it is as wide as the
// accumulator).
//
// The slope of relu² grows with x: an error d before it becomes at most (2·R + d)·d, where R is |α| times the largest
// sum,
// |β·c| and the bias. The square itself is rounded once: half a unit, relative to the result.
//
// Behind a gate, silu(x)·y. With |x|, |y| ≤ R, each off by d: |Δ| ≤ 1.13·d·R + R·d + 1.13·d². R is |α| times the
// largest sum, and the bias. silu itself needs no 1 + erf: x/(1 + e^−x) is off by 2^-20 of itself, but for x < −16,
// where e^−x is off by up to |x|·2^-23 and what is left is at most x²·e^x·2^-23 < 2^-37, of f64 2^-66: times R. To that
// comes the least step of f16.
#include "tuner/verify/exact_data.hpp"

#include <algorithm>
#include <cmath>

#include "tuner/verify/weights_data.hpp"

namespace tilesmith::tuner {
namespace {

/// One unit in the last place of 1.
double unit(Scalar scalar) {
  switch (scalar) {
    case Scalar::f16:
    case Scalar::tf32: return std::ldexp(1, -10);
    case Scalar::bf16: return std::ldexp(1, -7);
    case Scalar::f32: return std::ldexp(1, -23);
    case Scalar::f64: return std::ldexp(1, -52);
    case Scalar::e4m3: return std::ldexp(1, -3);
    default: return 0;
  }
}

/// Half the distance of the smallest results, where it matters beside the bounds.
double half_step(Scalar scalar) {
  if (scalar == Scalar::s8) return 0.5;
  return scalar == Scalar::e4m3 ? std::ldexp(1, -10) : 0;
}

/// Of results as D's type rounds them: a unit, or half of it behind a wider accumulator.
double rounding(const TypePair& type) { return unit(type.output) / (rounds_output(type) ? 2 : 1); }

/// See above: of the exact stage, where sums are exact before they become real.
Tolerance made_real_tolerance(const Problem& problem, const Scales& scales) {
  const double largest =
      std::abs(scales.alpha) * largest_sum(problem, Stage::exact) + (std::abs(scales.beta) + 1) * kMadeRealRange;
  return {std::ldexp(largest, -22), unit(problem.type.output) / 2 + std::ldexp(1, -22)};
}

/// See above: of sums.
double rounded_weights(const Problem& problem) {
  if (!has_weights(problem) || size_bytes(problem.type.a) == 1 || is_k_quant(problem.weights.type)) return 0;
  const double root = std::sqrt(double(std::max<std::int64_t>(problem.k, 1)));
  const double roundings = problem.weights.type == WeightType::e4m3 && problem.weights.zeros ? 2 : 1;
  return roundings * unit(problem.type.a) / 2 * (1.75 * rms_weight(problem) * root + 2);
}

/// See above: of products of 16-bit operands.
double bound_of_f32_sums(std::int64_t k) {
  return 2 * unit(Scalar::f32) * (double(std::max<std::int64_t>(k, 1)) / 4 + 16);
}

Tolerance real_tolerance(const Problem& problem, const Scales& scales) {
  const TypePair& type = problem.type;
  const double of_sums = !is_integer(type.a) ? real_bound(type, problem.k)
                         : problem.epilogue.has_block_scales()
                             ? largest_real_product(problem) * real_bound(*find_type_pair("f32f32"), problem.k)
                             : largest_real_product(problem) * bound_of_f32_sums(problem.k);
  const double bound = of_sums * std::sqrt(double(std::max<std::int64_t>(problem.k, 1))) + rounded_weights(problem);
  const double addends = std::abs(scales.beta) + (problem.epilogue.bias != Bias::none ? 1 : 0);
  return {std::abs(scales.alpha) * bound + 2 * unit(type.scale) * addends, rounding(type)};
}

/// See above. `before`: of x and y.
Tolerance gated_tolerance(const Problem& problem, Stage stage, const Scales& scales, double before) {
  const TypePair& type = problem.type;
  const bool f64 = type.scale == Scalar::f64;
  constexpr double kLargestBias = 8;
  const double steepest = row_of(problem.epilogue.activation).slope;
  const double largest =
      std::abs(scales.alpha) * largest_sum(problem, stage) + (problem.epilogue.bias != Bias::none ? kLargestBias : 0);
  const double least_step = type.output == Scalar::f16 ? std::ldexp(1, -24) : half_step(type.output);
  return {(steepest + 1) * largest * before + steepest * before * before + std::ldexp(largest, f64 ? -65 : -36) +
              least_step,
      rounding(type) + std::ldexp(1, f64 ? -49 : -20)};
}

}  // namespace

double real_bound(const TypePair& type, std::int64_t k) {
  const double depth = double(std::max<std::int64_t>(k, 1));
  const double eps = unit(type.accumulator);
  if (is_fp8(type.a)) return std::ldexp(1, -12) * (depth / 32 + 16 + std::sqrt(depth));
  switch (type.accumulator) {
    case Scalar::f16: return eps * (std::sqrt(depth) + 4);
    case Scalar::f32:
      if (type.a == Scalar::f32) return 2 * eps * (std::sqrt(depth) + 8);
      if (type.a == Scalar::f32x3) return 2 * eps * (std::sqrt(depth) + 32);
      return bound_of_f32_sums(k);
    case Scalar::f64: return 2 * eps * (std::sqrt(depth) + 8);
    default: return 0;  // integers are exact
  }
}

Tolerance tolerance(const Problem& problem, Stage stage, const Scales& scales) {
  const TypePair& type = problem.type;
  const Epilogue& epilogue = problem.epilogue;
  Tolerance allowed;
  if (stage == Stage::real) allowed = real_tolerance(problem, scales);
  else if (makes_integers_real(type)) allowed = made_real_tolerance(problem, scales);
  if (epilogue.is_gated()) return gated_tolerance(problem, stage, scales, allowed.absolute);
  const double rounded = !is_exact(problem) || stage == Stage::real ? half_step(type.output) : 0;
  if (is_exact(epilogue.activation)) return {allowed.absolute + rounded, allowed.relative};
  const ActivationRow& row = row_of(epilogue.activation);
  const double activation = row.error_units * unit(type.scale);
  const double addends = (std::abs(scales.beta) + 1) * (makes_integers_real(type) ? kMadeRealRange : 1);
  const double largest = std::abs(scales.alpha) * largest_sum(problem, stage) + addends;
  const double steepest = row.slope + row.curvature * (allowed.absolute > 0 ? largest + allowed.absolute : 0);
  return {steepest * allowed.absolute + activation + rounded, rounding(type) + activation / 2};
}

}  // namespace tilesmith::tuner
