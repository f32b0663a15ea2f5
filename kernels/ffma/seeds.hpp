// What is tried first of the family `ffma`.
#pragma once

#include <vector>

#include "kernels/families/family.hpp"

namespace tilesmith::ffma {

std::vector<Config> seeds(const KernelTarget& target, const Problem& problem);

}  // namespace tilesmith::ffma
