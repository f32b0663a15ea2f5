// The one ranking of measured times, best first, by which all that reads records goes. Chooser
// (runtime/choose/choose.hpp) says which config then runs; a run in progress goes by its own times
// (tuner/loop/tune.hpp).
//
// A candidate's latest entry counts, so that one that failed later is not chosen. A trial counts only if the candidate
// has no other entry. Retired entries are passed over. Times of a former measuring policy count where a problem has
// none of today's, those of trials where it has neither. Then: trust (valid before reverify before remeasure), time,
// config text.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "db/store/trust.hpp"

namespace tilesmith::db {

/// One task on one device.
struct RankedTask {
  std::vector<Judged> best;  ///< candidates with a time that counts, best first
  /// Candidates that have only retired entries, fastest first. They show how long configs take.
  std::vector<Judged> retired_times;
  std::vector<const Record*> failed;  ///< the latest entries of candidates that failed last
  const Record* latest = nullptr;     ///< of all its entries: tells task and device
  std::size_t entries = 0, retired_entries = 0;

  const Task& task() const { return latest->task; }
  const Problem& problem() const { return task().problem(); }  ///< of a GEMM problem
  const DeviceIdentity& device() const { return latest->device; }
};

/// The order of `best`, for two entries that have a time.
bool ranks_before(const Judged& a, const Judged& b);

/// In the order of the texts of task and device. `now`: what would measure the entry's config today. The entries
/// must outlive the result.
std::vector<RankedTask> rank(std::span<const Record> entries, const std::function<Environment(const Record&)>& now);

}  // namespace tilesmith::db
