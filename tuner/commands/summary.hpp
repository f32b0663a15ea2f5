// The table that ends a tuning run: what now runs for each problem of the workload.
#pragma once

#include <cstddef>
#include <string>

#include "db/store.hpp"
#include "tuner/evaluator.hpp"
#include "tuner/workload.hpp"

namespace tilesmith::tuner {

/// A line a problem: type, transposes, M, N, K, µs, TFLOP/s, percent of peak, spread, rung, config. Times of the exact rung
/// only: a neighbour's time says nothing of this problem. `clock_mhz`: the device's maximum, 0 if unknown.
std::string summary_of_bests(const Workload& workload, const db::Store& store, const Evaluator& evaluator, double clock_mhz,
                             std::size_t width);

}  // namespace tilesmith::tuner
