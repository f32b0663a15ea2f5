// How long a config of the family `ffma` may take, by counting.
#pragma once

#include "kernels/families/estimate.hpp"

namespace tilesmith::ffma {

/// As tilesmith::estimate(). Precondition: the config is legal.
Estimate estimate(const Config& config, const KernelTarget& target, const Problem& problem);

}  // namespace tilesmith::ffma
