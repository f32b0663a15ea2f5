// The figures of one problem on one device.
#pragma once

#include <vector>

#include "db/store/trust.hpp"
#include "tuner/report/report.hpp"

namespace tilesmith::tuner::report {

/// Entries of one problem on one device, oldest first, as they are judged today: not retired, and of today's measuring
/// policy.
struct ProblemEntries {
  std::vector<db::Judged> before, reported;
};

/// `work`: tells how long was worked until the best was found.
ProblemFigures figures_of(const ProblemEntries& entries, const Selection& work);

/// The latest reported entry of each candidate, of those that are no times.
std::vector<const db::Record*> failed_candidates(const ProblemEntries& entries);

/// Most frequent kind first. `failed`: one entry a candidate.
inline constexpr std::size_t kMostMessages = 5;
std::vector<FailureKind> failures_by_kind(const std::vector<const db::Record*>& failed);

/// What a tuner stored of it: the vendor's best beside this very best, or that it refused the problem.
std::optional<PeerRatio> stored_peer_ratio(const ProblemFigures& figures, const db::VendorIndex& vendor);
/// From the rows of the CSV file that are about this problem; nullopt if there are none.
std::optional<PeerRatio> peer_ratio(const ProblemFigures& figures, const std::vector<BenchRow>& rows);

}  // namespace tilesmith::tuner::report
