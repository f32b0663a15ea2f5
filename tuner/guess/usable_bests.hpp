// Which recorded times may still decide what runs: those of kernels as they are today.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "db/store.hpp"

namespace tilesmith::tuner {

struct UsableBests {
  std::vector<db::Evidence> bests;
  std::size_t retired = 0;  ///< problems, on a device, whose every evidence is retired
};

/// Of each problem on each device the fastest candidate by the latest of its entries that are not retired: a time of a former
/// kernel hides no slower one of today's. Those of a former measuring policy, the latest, count for problems of which no time of
/// today's is known. (The view `best` knows nothing of today's kernels.) Equal times: the smaller config
/// text, as in that view. `entries`: latest first, as Store::evidence() gives them; `now`: the producer that would measure the
/// entry's config today.
UsableBests usable_bests(const std::vector<db::Evidence>& entries,
                         const std::function<db::Producer(const db::Evidence&)>& now);

}  // namespace tilesmith::tuner
