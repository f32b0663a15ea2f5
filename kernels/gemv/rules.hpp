// The space of the family `gemv`, and its configs that are worth trying first.
#pragma once

#include <vector>

#include "kernels/families/family.hpp"

namespace tilesmith::gemv {

std::vector<Parameter> parameters(const KernelTarget& target);
std::vector<Rule> rules(const KernelTarget& target);
std::vector<Config> initial_configs(const KernelTarget& target);

}  // namespace tilesmith::gemv
