// The space of family `mma`: its parameters, and the rules that prune it.
#pragma once

#include <vector>

#include "kernels/families/family.hpp"

namespace tilesmith::mma {

bool supports(const KernelTarget& target);
std::vector<Parameter> parameters(const KernelTarget& target);
std::vector<Rule> rules(const KernelTarget& target);
/// Of kernels with a 2:4 sparse operand; none of others.
std::vector<Rule> sparse_rules(const KernelTarget& target);

}  // namespace tilesmith::mma
