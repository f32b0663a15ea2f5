// A small set of kernels that serves any shape of a type pair and transposes well: what a bundle packs for applications
// whose shapes nobody knows.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <vector>

#include "runtime/choose/choose.hpp"

namespace tilesmith::tuner {

struct Cover {
  std::vector<Config> configs;  ///< the most useful first
  double mean_of_best =
      0;  ///< geometric mean over the grid, by predicted times: best of all candidates over best of the set
  double worst_of_best = 0;
};

/// The shapes that a cover is chosen for: M and N from 1 to 8192, K from 64 to 16384, rows aligned to 16 bytes and not.
std::vector<Problem> cover_grid(const KernelTarget& target);

/// A greedy cover: to the set comes what brings the grid's predicted times down most, until there are `most` or the
/// next brings less than 0.05% on the mean. Candidates are the first few of the chooser's ranking at some of the grid's
/// shapes. On all cores. `on_shape` is called after each of those shapes, by several threads, with how many there are;
/// where `stop` is set the result is empty.
Cover choose_cover(const runtime::Chooser& chooser, const KernelTarget& target, std::size_t most,
    const std::atomic<bool>& stop, const std::function<void(std::size_t of)>& on_shape);

}  // namespace tilesmith::tuner
