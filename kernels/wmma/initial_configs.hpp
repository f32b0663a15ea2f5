// Configs of the family `wmma` that are worth trying first, and its steps of the known ladder.
#pragma once

#include <vector>

#include "kernels/families/family.hpp"

namespace tilesmith::wmma {

/// Legal configs, the best guess first.
std::vector<Config> initial_configs(const KernelTarget& target);
/// Slowest first.
std::vector<NamedConfig> ladder(const KernelTarget& target);

}  // namespace tilesmith::wmma
