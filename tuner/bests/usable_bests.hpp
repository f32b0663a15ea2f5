// Which recorded times may still decide what runs: those of kernels as they are today.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "db/store/store.hpp"
#include "db/store/trust.hpp"
#include "kernels/families/device_limits.hpp"

namespace tilesmith::tuner {

struct UsableBests {
  std::vector<db::Judged> bests;     ///< of entries among those given
  std::size_t retired_problems = 0;  ///< problems, on a device, whose every record are retired
};

/// Of each problem on each device the first `most` of the one ranking (db/store/ranked.hpp) whose configs may run, best first. The library
/// chooses the first of them (runtime/choose/choose.hpp, `exact`). `now`: the environment that would measure the entry's config today. `runs`, if given:
/// whether its config may run its problem today (rules_allow).
UsableBests usable_bests(const std::vector<db::Record>& entries,
                         const std::function<db::Environment(const db::Record&)>& now,
                         const std::function<bool(const db::Record&)>& runs = {}, std::size_t most = 1);

/// Whether today's rules let the entry's config run its problem on a device of these limits. (A plan hash goes by those of the
/// architecture.)
bool rules_allow(const db::Record& entry, const DeviceLimits& limits);

}  // namespace tilesmith::tuner
