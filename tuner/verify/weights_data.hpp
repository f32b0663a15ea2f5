// Weights that are proven: what they hold in each stage, as they are stored, and as they are multiplied.
//
// Exact stage: activations are integers, weights integers once the zero is taken off, scales ± powers of two (of e4m3
// times those that make its units integers: halves of e2m1; of nf4, rounded to A's type, 2^-14 (f16) or 2^-11 (bf16)).
// Every partial sum, of weights with or without their scales, is an integer or a multiple of a power of two that f32
// holds. Nothing is rounded but the result to D's type, to nearest, and that is known to the bit. α keeps f16 from
// overflowing. Real-valued stage: codes of the whole range. Scales have any value in [1/9, 1] of either sign, as their
// type holds them, times a power of two that keeps weights below 1.
// Of Q4_K scales and minima are whole numbers of up to 63. In the exact stage d is 1 or 2, dmin that times 1, 2 or 4, of
// one sign, and dmin · m is d · s times a code. In the real-valued stage d and dmin have any values of either sign.
// Of Q6_K scales are whole numbers of either sign: in the exact stage d · s is at most 31, in the other s is any byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tuner/verify/exact_data.hpp"
#include "tuner/verify/host_reference.hpp"
#include "tuner/verify/weights_rules.hpp"

namespace tilesmith::tuner {

/// Of exact weights, times their scale, without sign.
double largest_weight(const KernelSignature& signature);
/// The same of a weight in the real-valued stage as a root mean square; none is larger than 1.
double rms_weight(const KernelSignature& signature);
/// As largest_sum(), of the exact stage.
double largest_sum_of_weights(const Problem& problem);
/// Takes stage_rules() of the types, of which C, bias and the epilogue's scales stay, for those of the weights.
void fit_to_weights(const Problem& problem, Stage stage, StageRules& rules);

/// What the weights of a problem hold. `rules`: of its stage.
verify::WeightsRule weights_rule(const Problem& problem, Stage stage, const StageRules& rules);

/// Puts B, its scales or its zeros into host memory, by role, those of all experts; `first`: of the first matrix.
void put_weights(const Problem& problem, OperandRole role, const verify::WeightsRule& rule, std::byte* first);

/// Of one expert rows [first, first + rows) of W, [rows, k], read as they are stored. `blocks`: the row of blocks that
/// has the first one. `zeros`: null if there are none.
std::vector<double> weights_of_rows(const Problem& problem, std::int64_t first, std::int64_t rows,
    const std::byte* blocks, const std::byte* scales, const std::byte* zeros);
/// All of its op(B), [k, n].
OpMatrix multiplied_weights(
    const Problem& problem, const std::byte* codes, const std::byte* scales, const std::byte* zeros);

/// The kernels that fill weights and multiply with them, for reference_source(); and their names.
extern const char* const kWeightsKernelsText;
std::vector<std::string> weights_entries();

}  // namespace tilesmith::tuner
