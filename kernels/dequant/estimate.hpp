// How long a config of the family `dequant` may take, from counting alone.
#pragma once

#include "kernels/families/estimate.hpp"

namespace tilesmith::dequant {

Estimate estimate(const Config& config, const KernelTarget& target, const Problem& problem);

}  // namespace tilesmith::dequant
