// The parameters of family `wgmma` and the rules that configs keep.
#pragma once

#include <vector>

#include "kernels/family.hpp"

namespace tilesmith::wgmma {

bool supports(const KernelTarget& target);
std::vector<Parameter> parameters(const KernelTarget& target);
std::vector<Rule> rules(const KernelTarget& target);

}  // namespace tilesmith::wgmma
