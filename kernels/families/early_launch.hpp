// The parameter `early_launch`, of the families whose plans may come while the kernel before them still ends
// (shared/work/overlap.cuh, Launch::overlaps_previous).
#pragma once

#include "kernels/families/family.hpp"

namespace tilesmith {

/// Values of a parameter that switches a feature of the device on.
inline std::vector<int> off_or_on(bool has_feature) { return has_feature ? std::vector{0, 1} : std::vector{0}; }

inline Parameter early_launch_parameter(const KernelTarget& target) {
  return {"early_launch", off_or_on(target.limits.features.dependent_launch),
      "1: blocks come while the kernel before still ends, if that one lets them, as those with this do, and wait "
      "for its "
      "results; in a graph behind those with this alone (sm_90)"};
}

}  // namespace tilesmith
