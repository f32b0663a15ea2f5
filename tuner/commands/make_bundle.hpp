// Gathers a device's best configs and the kernels they need into a bundle.
#pragma once

#include <cstddef>
#include <functional>

#include "db/bundle.hpp"
#include "tuner/commands/target.hpp"
#include "tuner/commands/wanted.hpp"

namespace tilesmith::tuner {

struct BundleReport {
  std::size_t bests = 0;
  std::size_t retired = 0;         ///< problems left out: template or options of all their evidence changed
  std::size_t without_kernel = 0;  ///< bests left out: no stored cubin, and it could not be compiled
  std::size_t generic_kernels = 0;
  std::size_t compiled = 0;        ///< kernels that were not in the store
};

/// Bests whose kernel is neither stored nor can be compiled are left out and counted. Throws UsageError if a generic kernel
/// is missing and cannot be compiled: a bundle promises a rung for any problem. `on_kernel(done, total)` tells progress.
db::Bundle make_bundle(const db::Store& store, const TargetDevice& device, const Wanted& wanted,
                       BundleReport& report, const std::function<void(std::size_t, std::size_t)>& on_kernel);

}  // namespace tilesmith::tuner
