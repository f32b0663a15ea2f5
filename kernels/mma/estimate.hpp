// How long a config of the family `mma` may take, from counting alone: what orders the configs that are tried first.
#pragma once

#include "kernels/families/estimate.hpp"

namespace tilesmith::mma {

/// Counted are the tensor cores' products, the bytes through the L2, shared memory and
/// DRAM, copy instructions, waves of blocks over the SMs, and the passes before and after; the rates are those of the
/// architecture's best-known device.
/// Precondition: the config is legal; m, n, k ≥ 1.
Estimate estimate(const Config& config, const KernelTarget& target, const Problem& problem);

}  // namespace tilesmith::mma
