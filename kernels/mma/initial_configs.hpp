// Configs of the family `mma` that are worth trying first.
#pragma once

#include <vector>

#include "kernels/families/family.hpp"

namespace tilesmith::mma {

/// Some thirty configs for the problem, the shortest estimate first, no more than a few of one tile.
std::vector<Config> initial_configs(const KernelTarget& target, const Problem& problem);

}  // namespace tilesmith::mma
