// Parameters and rules of the family `ffma`.
#pragma once

#include <vector>

#include "kernels/families/family.hpp"

namespace tilesmith::ffma {

bool supports(const KernelTarget& target);
std::vector<Parameter> parameters(const KernelTarget& target);
std::vector<Rule> rules(const KernelTarget& target);

}  // namespace tilesmith::ffma
