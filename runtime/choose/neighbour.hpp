// How near a measured problem is to another. Units: doublings (log2).
#pragma once

#include "db/store/record.hpp"
#include "kernels/problem/problem.hpp"

namespace tilesmith::runtime {

/// How far a measured problem is from this one, in doublings. It is the length of (log2 M/M', log2 N/N', log2 K/K', log2 of the batches'
/// entries). To that come half a doubling for each halving by which rows of A, B or C are differently aligned. Another beta class is
/// 0.05 more, another epilogue 0.1, α and β in another place 0.02, another batch mode 0.05 (groups are a batch of equal ones). Type pair and transposes count for nothing. Both have M, N, K ≥ 1.
double distance(const Problem& measured, const Problem& problem);

/// What a problem measured on the one device is further away on the other, in doublings; of similar devices (db::are_similar), less where they
/// have as many multiprocessors.
double device_doublings(const db::DeviceIdentity& on, const db::DeviceIdentity& here);

}  // namespace tilesmith::runtime
