// Learns from what was measured of other problems, and on similar devices, which configs are worth trying on one that
// was never seen.
//
// A forest of randomised trees (search/regression_forest.hpp) over the config's parameters, the problem's size, type
// pair, transposes and alignment, how the one's tiles lie on the other, and the family's own estimate. What it predicts
// is ln(time / best time of that problem): problems are then comparable, and only the order of configs matters.
// docs/notes/initial_configs.md has what that gives held out, and what else was tried.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "db/store/record.hpp"
#include "db/store/store.hpp"
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

// What was tried on the problems nearest to one: what the model learns from, and which families
// that speaks against.

/// How far a measured problem of any type pair and transposes is from another, in doublings.
double doublings_apart(const Problem& measured, const Problem& problem);

/// A recorded config as it reads today, if it may run on the problem.
using AsOfToday = std::function<std::optional<Config>(const Config& config, const Problem& problem)>;

struct TriedNearby {
  std::vector<Tried> sample;  ///< some 1,000 candidates at most: a few of each problem, the fastest among them
  /// Families of which something was tried on at least three of these problems that are of the problem's type pair, and
  /// nothing of theirs was within twice the fastest time on any of them.
  std::set<std::string> outclassed;
};

/// Candidates that were tried on the device, or on similar devices (db::are_similar), on the problems nearest to this
/// one; on the device none of the problem itself. `bests`: the store's (KeptBests); of them those of devices that are
/// not similar are passed over. Reads some 4,000 entries at most.
TriedNearby tried_nearby(const Problem& problem, std::span<const db::Record> bests, const db::Store& store,
    const db::DeviceIdentity& device, const AsOfToday& as_of_today);

}  // namespace tilesmith::tuner
