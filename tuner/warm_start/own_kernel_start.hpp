// What is worth trying first of a kernel of a user's own, besides what its own records say.
#pragma once

#include <vector>

#include "db/store/store.hpp"
#include "tuner/warm_start/initial_configs.hpp"

namespace tilesmith::tuner {

/// The few fastest at other sizes, the nearest sizes first. Precondition: the kernel is loaded and has these sizes.
std::vector<Config> bests_at_nearest_sizes(
    const SizedKernel& sized, const InitialConfigsFor& whom, const db::Store& store);

/// How far two tasks of one kernel are apart: the root of the sum of squares of the sizes' ratios, as logarithms.
double sizes_apart(const SizedKernel& a, const SizedKernel& b);

}  // namespace tilesmith::tuner
