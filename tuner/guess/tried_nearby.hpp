// What was tried on the problems nearest to one: what the model of evidence_model.hpp learns from.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "db/store.hpp"
#include "tuner/guess/evidence_model.hpp"

namespace tilesmith::tuner {

/// How far a measured problem of any type pair and transposes is from another, in doublings.
double doublings_apart(const Problem& measured, const Problem& problem);

/// A recorded config as it reads today, if it may run on the problem.
using AsOfToday = std::function<std::optional<Config>(const Config& config, const Problem& problem)>;

/// Up to some 1,000 candidates that were tried on the device, or on devices alike (db::are_alike), on the problems nearest to this one, a
/// few of each and the fastest among them; on the device none of the problem itself. `bests`: the store's; of them those of devices that
/// are not alike are passed over. Reads some 4,000 entries at most.
std::vector<Tried> tried_nearby(const Problem& problem, std::span<const db::Best> bests, const db::Store& store,
                                const db::DeviceIdentity& device, const AsOfToday& as_of_today);

}  // namespace tilesmith::tuner
