// How long a config of the family `wgmma` may take, from counting alone: what orders the configs that are tried first.
#pragma once

#include "kernels/families/estimate.hpp"

namespace tilesmith::wgmma {

/// Counted are the tensor cores' products, the bytes through shared memory, the L2 and DRAM,
/// waves of blocks over the SMs, and the passes before and after. Precondition: the config is legal; m, n, k ≥ 1.
Estimate estimate(const Config& config, const KernelTarget& target, const Problem& problem);

}  // namespace tilesmith::wgmma
