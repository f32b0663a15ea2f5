// Which configs of family `wgmma` to try first on a problem.
#pragma once

#include <vector>

#include "kernels/families/family.hpp"

namespace tilesmith::wgmma {

/// Legal configs that differ in what matters, the shortest estimate first (estimate.hpp).
std::vector<Config> initial_configs(const KernelTarget& target, const Problem& problem);

}  // namespace tilesmith::wgmma
