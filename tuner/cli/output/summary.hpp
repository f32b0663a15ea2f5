// The table that ends a tuning run: what now runs for each problem of the workload.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "db/store/store.hpp"
#include "kernels/families/device_limits.hpp"
#include "tuner/workload.hpp"

namespace tilesmith::tuner {

/// What the table is for: a device, and what would be the environment of a family's records on it now.
struct SummaryDevice {
  db::DeviceIdentity identity;
  DeviceLimits limits;
  double clock_mhz = 0;  ///< the maximum, 0 if unknown
  std::function<db::Environment(const std::string& family)> environment;
};

/// A line a problem: type, transposes, M, N, K, µs, TFLOP/s, percent of peak, spread, level, config. Rates are of
/// measured times alone. A predicted time has a ~ before it.
std::string summary_of_bests(
    const Workload& workload, const db::Store& store, const SummaryDevice& device, std::size_t width);

}  // namespace tilesmith::tuner
