// How long a config of the family `simt` may take on a batch or on groups, by counting.
#pragma once

#include <optional>

#include "kernels/families/estimate.hpp"

namespace tilesmith::simt {

/// As tilesmith::estimate(); empty for a single problem, which other families do better. Counted are the instructions
/// of loads of one element each, products, shared memory, bytes, what threads and blocks an SM has room for, and how
/// fast blocks start. Precondition: the config is legal; m, n, k, batch ≥ 1.
std::optional<Estimate> estimate(const Config& config, const KernelTarget& target, const Problem& problem);

}  // namespace tilesmith::simt
