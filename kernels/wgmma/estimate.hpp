// How long a config of the family `wgmma` may take, from counting alone: what orders the configs that are tried first.
#pragma once

#include "kernels/family.hpp"

namespace tilesmith::wgmma {

/// Clock cycles, launches included. Counted are the tensor cores' products, the bytes through shared memory, the L2 and DRAM,
/// waves of blocks over the SMs, and the passes before and after. Good for comparing configs on one problem, and for nothing
/// else. Precondition: the config is legal; m, n, k ≥ 1.
double estimate_cycles(const Config& config, const KernelTarget& target, const Problem& problem);

}  // namespace tilesmith::wgmma
