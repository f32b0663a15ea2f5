// Learns from what was measured of other problems, and on similar devices, which configs are worth trying on one that
// was never seen.
//
// A forest of randomised trees (search/regression_forest.hpp) over the config's parameters, the problem's size, type
// pair, transposes and alignment, how the one's tiles lie on the other, and the family's own estimate. What it predicts
// is ln(time / best time of that problem): problems are then comparable, and only the order of configs matters.
// docs/notes/initial_configs.md has what that gives held out, and what else was tried.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "db/store/record.hpp"
#include "kernels/families/family.hpp"

namespace tilesmith::tuner {

/// A legal config that was tried on some problem.
struct Tried {
  Problem problem;
  Config config;
  double slowdown = 1;  ///< its time over the best of that problem; of one that failed, as the slowest
};

/// Where the candidates are to run; what was tried is taken as tried there.
struct TriedOn {
  db::DeviceIdentity device;
  DeviceLimits limits;
};

/// The candidates, most promising first; as given where `tried` is empty. Equal predictions keep their order.
/// Deterministic by `seed`.
std::vector<Config> most_promising_first(std::vector<Config> candidates, std::span<const Tried> tried,
    const Problem& problem, const TriedOn& on, std::uint64_t seed);

}  // namespace tilesmith::tuner
