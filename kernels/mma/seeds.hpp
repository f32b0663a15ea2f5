// Configs of family `mma` worth trying first.
#pragma once

#include <vector>

#include "kernels/family.hpp"

namespace tilesmith::mma {

std::vector<Config> seeds(const KernelTarget& target);

}  // namespace tilesmith::mma
