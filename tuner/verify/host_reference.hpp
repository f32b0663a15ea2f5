// The plain reference on the host: small problems, f64 arithmetic, no tiles.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/problem/operand.hpp"
#include "tuner/verify/exact_data.hpp"
#include "tuner/verify/number_formats.hpp"

namespace tilesmith::tuner {

/// A matrix as op() sees it, [rows, cols] packed: what the multiplier reads, tf32 already rounded.
struct OpMatrix {
  std::int64_t rows = 0, cols = 0;
  std::vector<double> values;
  double at(std::int64_t i, std::int64_t j) const { return values[std::size_t(i * cols + j)]; }
};

/// op(A)·op(B), [m, n]. Exact for integer data: all sums stay under 2^53. `element`: whose product() is added up.
std::vector<double> multiply(const OpMatrix& a, const OpMatrix& b, Scalar element = Scalar::f64);

/// α·acc + β·c in the pair's scale arithmetic: s32 wraps modulo 2^32, floats in f64 without rounding. β = 0 does not
/// look at c, α = 0 does not look at acc.
double scaled(const TypePair& type, const Scales& scales, double acc, double c);

/// What an epilogue's vectors hold for an element of D.
struct Terms {
  double scale = 1;  ///< r·c
  double bias = 0;
};

/// Those of D[i][j]. `value(role, at)`: what a vector of the problem holds there.
template <typename Value>
Terms terms_at(const KernelSignature& signature, std::int64_t i, std::int64_t j, const Value& value) {
  const Epilogue& epilogue = signature.epilogue;
  Terms terms;
  const bool by_block = epilogue.has_block_scales();  // then A and B have them
  if (epilogue.scale_m != Scaling::none && !by_block)
    terms.scale *= value(OperandRole::scale_m, epilogue.scale_m == Scaling::each ? i : 0);
  if (epilogue.scale_n != Scaling::none && !by_block)
    terms.scale *= value(OperandRole::scale_n, epilogue.scale_n == Scaling::each ? j : 0);
  if (epilogue.bias != Bias::none) terms.bias = value(OperandRole::bias, epilogue.bias == Bias::along_n ? j : i);
  return terms;
}

/// In the exact stages what D must hold: scaled() and then the epilogue, rounded to the output's format (to nearest,
/// ties to even) where it is not exact in it. (Of a gated epilogue: of x or y, before the gate.) In the real-valued
/// stage, and behind an activation that is not exact, what D must be near: the same, not rounded.
double expected_value(
    const KernelSignature& signature, Stage stage, const Scales& scales, double acc, double c, const Terms& terms = {});

/// What D[i][pair] of a gated epilogue must be near, as far as D's type reaches. `sum(n)`: op(A)·op(B) in row i and
/// column n; `value` as for terms_at().
template <typename Sum, typename Value>
double expected_pair(const Problem& problem, Stage stage, const Scales& scales, std::int64_t i, std::int64_t pair,
    const Sum& sum, const Value& value) {
  const auto column = [&](bool y) {
    return std::int64_t(verify::gate_column(int(row_of(problem.epilogue.activation).gate), pair, y, problem.d_cols()));
  };
  const auto half = [&](std::int64_t n) {
    return expected_value(problem, stage, scales, sum(n), 0, terms_at(problem, i, n, value));
  };
  return bounded(problem.type.output,
      verify::activation_value(int(problem.epilogue.activation), half(column(false)), half(column(true))));
}

/// The integer modulo 2^32 as s32 holds it.
std::int32_t wrapped_s32(double value);

}  // namespace tilesmith::tuner
