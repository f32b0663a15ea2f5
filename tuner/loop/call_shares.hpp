// By what a run's time is shared out where the weights of its workload are calls: calls x time, the time that the
// program spends there.
#pragma once

#include <vector>

#include "db/store/store.hpp"
#include "tuner/workload.hpp"

namespace tilesmith::tuner {

/// By task, in us; empty where weights are shares. A time is the best of the last on record for the device, else an
/// estimate: twice what the task takes at the device's peak or from its memory, and no less than a launch.
std::vector<double> call_shares(const Workload& workload, const db::Store& store, const db::DeviceIdentity& device);

}  // namespace tilesmith::tuner
