// Configs of the family `simt` that are worth trying first.
#pragma once

#include <vector>

#include "kernels/families/family.hpp"

namespace tilesmith::simt {

/// For entries of a batch of this problem: legal configs, the shortest estimate first, a few of each tile.
/// Precondition: the target shares_blocks().
std::vector<Config> initial_configs(const KernelTarget& target, const Problem& problem, const std::vector<Rule>& rules);

}  // namespace tilesmith::simt
