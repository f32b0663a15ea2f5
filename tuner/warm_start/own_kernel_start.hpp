// What is known of a kernel of a user's own at given sizes, and what is worth trying first.
#pragma once

#include "db/store/store.hpp"
#include "kernels/own/kernel.hpp"
#include "tuner/warm_start/initial_configs.hpp"

namespace tilesmith::tuner {

/// First what is to be verified again, then the fastest by former kernels or drivers, then the bests at the nearest
/// other sizes. `whom.only_finalists` counts as for problems. Precondition: the kernel is
/// loaded and has these sizes.
InitialConfigs own_kernel_start(
    const own::Kernel& kernel, const SizedKernel& sized, const InitialConfigsFor& whom, const db::Store& store);

/// How far two tasks of one kernel are apart: the root of the sum of squares of the sizes' ratios, as logarithms.
double sizes_apart(const SizedKernel& a, const SizedKernel& b);

}  // namespace tilesmith::tuner
