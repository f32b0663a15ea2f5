// The one ranking of measured times when records are read: which of them may decide what runs, best first. Tuner, library, `query`,
// `explain`, `export`, bundles and `report` go by it alike. Which config then runs is Chooser's to say (runtime/choose/choose.hpp); a run
// in progress goes by its own times (tuner/loop/tune.hpp).
//
// Of several entries of a candidate the latest counts, so that a config that was right once and failed later is not chosen; a trial only
// where there is no other. Retired entries (another plan hash or other options) are passed over. Times of a former measuring policy count
// where a problem has none of today's, and those of trials where it has none of either. Then: trust (valid before reverify before
// remeasure), time, config text.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "db/store/trust.hpp"

namespace tilesmith::db {

/// One problem on one device.
struct RankedProblem {
  std::vector<Judged> best;     ///< candidates with a time that counts, best first
  std::vector<Judged> retired_times;  ///< of candidates that have retired entries alone, the latest, fastest first: no word
                                      ///< on what may run, but on how long configs take
  std::vector<const Record*> failed;  ///< the latest entries of candidates that failed last
  const Record* latest = nullptr;  ///< of all its entries: tells problem and device
  std::size_t entries = 0, retired_entries = 0;

  const Problem& problem() const { return latest->problem; }
  const DeviceIdentity& device() const { return latest->device; }
};

/// The order of `best`, for two entries that have a time.
bool ranks_before(const Judged& a, const Judged& b);

/// `now`: the environment that would measure the entry's config on its device today. The entries must outlive what is returned, which is in
/// the order of the texts of problem and device.
std::vector<RankedProblem> rank(std::span<const Record> entries, const std::function<Environment(const Record&)>& now);

}  // namespace tilesmith::db
