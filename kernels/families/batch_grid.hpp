// Grids with a slice of y and z for each entry of a batch (kernels/shared/work/batch.cuh).
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/families/launch.hpp"

namespace tilesmith {

/// More entries than a grid has y go on in z: the fewest such slices, and then as few of y.
inline void add_entries(Extent3& grid, std::int64_t entries) {
  constexpr std::int64_t kMostY = 65535;
  if (entries < 1) return;
  const std::int64_t z = (entries - 1) / kMostY + 1;
  grid.y = unsigned((entries - 1) / z + 1);
  grid.z = unsigned(z);
}

}  // namespace tilesmith
