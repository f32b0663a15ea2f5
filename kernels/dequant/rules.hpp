// The space of the family `dequant`, and its configs that are worth trying first.
#pragma once

#include <vector>

#include "kernels/families/family.hpp"

namespace tilesmith::dequant {

std::vector<Parameter> parameters(const KernelTarget& target);
std::vector<Rule> rules(const KernelTarget& target);
/// By their estimates, best first.
std::vector<Config> initial_configs(const KernelTarget& target, const Problem& problem);

}  // namespace tilesmith::dequant
