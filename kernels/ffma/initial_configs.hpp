// What is tried first of the family `ffma`.
#pragma once

#include <vector>

#include "kernels/families/family.hpp"

namespace tilesmith::ffma {

std::vector<Config> initial_configs(const KernelTarget& target, const Problem& problem);

}  // namespace tilesmith::ffma
