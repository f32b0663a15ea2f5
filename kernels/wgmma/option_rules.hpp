// Rules of the family `wgmma` that are there for what a signature has beside types and transposes: gates, weights,
// groups.
#pragma once

#include <vector>

#include "kernels/families/family.hpp"

namespace tilesmith::wgmma {

std::vector<Rule> option_rules(const KernelTarget& target);

}  // namespace tilesmith::wgmma
