// Which part of a workload each of several tuners takes that know nothing of each other: nodes of a cluster, boards on
// a desk.
//
// Every tuner reckons all parts, so that they must be given the same workload. The order of its lines does not matter,
// nor does the device: nodes may differ. Similar tasks lie together, so that the bests of one are the first
// candidates of the next; parts are then evened out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "tuner/workload.hpp"

namespace tilesmith::tuner {

struct Shard {
  std::size_t index = 0;  ///< from 0
  std::size_t count = 1;
};

/// Of the load of a part so much is shared out by task, the rest by weight × time: the cheapest task is tried
/// with its initial configs, too.
inline constexpr double kEqualLoad = 0.25;

/// By task, which of `count` parts it belongs to. Deterministic. `us`: what a task is estimated to take, of any
/// device, the same wherever it is asked.
std::vector<std::size_t> shards_of(
    const Workload& workload, std::size_t count, const std::function<double(const Task&)>& us);

/// What shards_of() evens out, by task: millionths of their mean. Whole numbers, so that machines that round
/// otherwise agree.
std::vector<std::int64_t> loads_of(const Workload& workload, const std::function<double(const Task&)>& us);

/// The tasks of one part, in the workload's order. May be none.
Workload part_of(const Workload& workload, Shard shard, const std::function<double(const Task&)>& us);

}  // namespace tilesmith::tuner
