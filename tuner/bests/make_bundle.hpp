// Gathers a device's best configs and the kernels they need into a bundle.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "db/files/bundle.hpp"
#include "runtime/choose/choose.hpp"
#include "tuner/target_device.hpp"
#include "tuner/wanted.hpp"

namespace tilesmith::tuner {

struct BundleReport {
  std::size_t bests = 0;
  std::size_t retired_problems = 0;  ///< problems left out: kernel, launches or options of all their records changed
  std::size_t without_kernel = 0;    ///< bests left out: no stored cubin, and it could not be compiled
  std::size_t generic_kernels = 0;
  std::size_t compiled = 0;  ///< kernels that were not in the store
};

/// Bests whose kernel is neither stored nor can be compiled are left out and counted. Throws UsageError if a generic
/// kernel is missing and cannot be compiled: a bundle promises a level for any problem. `on_kernel(done, total)` tells
/// progress.
db::Bundle make_bundle(const db::Store& store, const TargetDevice& device, const Wanted& wanted, BundleReport& report,
    const std::function<void(std::size_t, std::size_t)>& on_kernel);

// A small set of kernels that serves any shape of a type pair and transposes well: what a bundle packs for applications
// whose shapes nobody knows.

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

struct CoverOptions {
  std::vector<TypePair> types;    ///< empty: all
  std::vector<Transposes> trans;  ///< empty: all four
  std::size_t max_kernels = 48;   ///< of a type pair and transposes, the generic one not counted
};

struct CoverReport {
  struct Row {
    std::string type, trans;
    std::size_t kernels = 0;
    double mean_of_best = 0, worst_of_best = 0;  ///< as in Cover
  };
  std::vector<Row> rows;
  std::size_t compiled = 0, without_kernel = 0;
};

/// A bundle of a few kernels that serves any shape (choose_cover). It takes over those records of these kernels that were
/// within a tenth of the best. If `device.identity` has no name, the device is not known, and there is no record of it. Kernels are compiled on all cores. `on_step(done, total)` tells
/// progress, by several threads. Throws UsageError if a generic kernel is missing.
db::Bundle make_cover_bundle(const db::Store* store, const TargetDevice& device, const CoverOptions& options,
    CoverReport& report, const std::atomic<bool>& stop, const std::function<void(std::size_t, std::size_t)>& on_step);

}  // namespace tilesmith::tuner
