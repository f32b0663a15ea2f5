// Which numbers the operands of a check are made of.
//
// Exact stages: integers so small that every partial sum, in any order, and α·sum + β·c are exactly representable in
// the accumulator and in the output. A right kernel then equals the reference bit for bit, whatever its order of
// summation, and a wrong one has no rounding to hide behind.
//
// Where the output is narrower than the accumulator, a further stage has sums that only the accumulator holds: they are
// exact still, and the one rounding left, of the result to the output (to nearest, ties to even), is known bit for bit
// too. It shows sums kept in the output's format and results truncated or rounded twice, on operands that are dense at
// any depth it is used at.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/problem/operand.hpp"
#include "tuner/verify/shared_rules.hpp"

namespace tilesmith::tuner {

using verify::ValueRule;

enum class Stage {
  exact,   ///< small integers
  wide_a,  ///< tf32, f32 and f32x3: integers in A that tf32 must round and f32 must not, small ones in B
  wide_b,  ///< the other way round
  wide_c,  ///< output narrower than its accumulator only: integers whose results the output must round
  real,    ///< uniform [-1, 1], or any s8 where they have scales or weights such; not of other integers
};
std::string_view name(Stage stage);

/// α and β in the pair's scale type.
struct Scales {
  double alpha = 1;
  double beta = 0;
};

/// The pairs of α and β that exact data stays exact under: {0, 1, other}², α = 1 and β = 0 first.
std::span<const Scales> exact_scales(const TypePair& type);
/// Those of the real-valued stage.
std::span<const Scales> real_scales();

/// About the largest magnitude of a sum of this stage's data, before α.
double largest_sum(const Problem& problem, Stage stage);
/// The largest product of two elements in Stage::real.
double largest_real_product(const KernelSignature& signature);
/// The scales; α is smaller if results would be beyond what D's type holds (behind gates and in bytes), and β is 0
/// behind a gate, which has no C.
Scales fitting_scales(const Problem& problem, Stage stage, Scales scales);

/// What keeps sums exact. Integer pairs wrap modulo 2^32 and need no limit: sum_limit is infinite.
struct ExactLimits {
  double sum_limit;      ///< Σ|a|·|b| over any K stays at or under this
  double largest_exact;  ///< integers up to this are exact in accumulator and output
  int operand_range;     ///< largest operand magnitude used
  int c_range;           ///< largest magnitude in C
};
ExactLimits exact_limits(const TypePair& type);
/// The same for Stage::wide_c: `sum_limit` is the accumulator's, `largest_exact` the output's.
/// Precondition: rounds_output().
ExactLimits wide_c_limits(const TypePair& type);

/// Whether results are rounded from a wider accumulator to a narrower output.
bool rounds_output(const TypePair& type);

/// The rules that fill A, B, C and the vectors of the epilogue. Scales of exact sums are ±1, so that these stay exact.
/// For K beyond what dense operands allow, one operand is sparse: it has one nonzero in each group of consecutive k.
/// That is at another place in every row of A (or column of B, whichever has more), so that over the matrix every k is
/// hit. Every other row hits k = 0 and k = K − 1.
struct StageRules {
  ValueRule a, b, c, scale_m, scale_n, bias;

  const ValueRule& of(OperandRole role) const;
};
/// Precondition: stage_applies().
StageRules stage_rules(const Problem& problem, Stage stage, std::uint64_t seed);

/// Scales of blocks of K of these matrices of A and B, from row `first_row` of A on.
verify::BlockScaleRule block_scale_rule(
    const Problem& problem, const StageRules& rules, std::int64_t a, std::int64_t b, std::int64_t first_row);
/// The epilogue as host and device compute it (shared_rules.hpp).
verify::EpilogueRule epilogue_rule(const KernelSignature& signature, const StageRules& rules);
/// The largest magnitude of C and bias where integers become real.
inline constexpr int kMadeRealRange = 100;
inline constexpr double kLargestS8 = 128;

/// Whether what comes behind exact sums is exact: no activation, or relu, of sums that stay as they are (not
/// makes_integers_real()).
bool is_exact(const KernelSignature& signature);

/// Whether the stage exists for the problem's types and fits its depth. Exact sums of weights are rounded to the output
/// already (weights_data.hpp).
bool stage_applies(const Problem& problem, Stage stage);

// How far a right kernel may be from the f64 reference on real-valued data: tolerance.cpp.

/// |C − reference| ≤ absolute + relative·|reference|; both 0 where results must be exact.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
};

/// On operands uniform in [-1, 1], α = 1, β = 0: |C − reference| ≤ real_bound(pair, k)·√k, and one unit of the output's
/// format (half a unit where the accumulator is wider). Stated per accumulator and derived in tolerance.cpp; 0 for
/// integers, which are exact.
double real_bound(const TypePair& type, std::int64_t k);
Tolerance tolerance(const Problem& problem, Stage stage, const Scales& scales);

}  // namespace tilesmith::tuner
