// How long a config of the family `gemv` may take, from counting alone: what orders the configs that are tried first.
#pragma once

#include "kernels/families/estimate.hpp"

namespace tilesmith::gemv {

/// Counted are the matrix's bytes, those that an SM has in flight, rounds of loads, waves of blocks over the SMs, and
/// the launch that adds slices of K; the rates are those of the architecture's best-known device. Precondition: the
/// config is legal and does not refuse the problem; m, n, k ≥ 1.
Estimate estimate(const Config& config, const KernelTarget& target, const Problem& problem);

}  // namespace tilesmith::gemv
