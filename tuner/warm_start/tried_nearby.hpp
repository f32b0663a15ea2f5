// What was tried on the problems nearest to one: what the model of record_model.hpp learns from, and which families
// that speaks against.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "db/store/store.hpp"
#include "tuner/warm_start/record_model.hpp"

namespace tilesmith::tuner {

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
