#include "tuner/guess/usable_bests.hpp"

#include <algorithm>

#include "db/ranked.hpp"
#include "kernels/family.hpp"

namespace tilesmith::tuner {

bool rules_allow(const db::Evidence& entry, const DeviceLimits& limits) {
  const Family* family = find_family(entry.config.family());
  return family != nullptr && !illegal_because(*family, entry.config, {entry.problem.type, entry.problem.trans, limits}) &&
         !refused_because(*family, entry.config, entry.problem);
}

UsableBests usable_bests(const std::vector<db::Evidence>& entries,
                         const std::function<db::Producer(const db::Evidence&)>& now,
                         const std::function<bool(const db::Evidence&)>& runs) {
  UsableBests result;
  for (const db::RankedProblem& one : db::rank(entries, now)) {
    const auto best = std::find_if(one.best.begin(), one.best.end(), [&](const db::Judged& judged) { return !runs || runs(*judged.entry); });
    if (best != one.best.end()) result.bests.push_back(*best);
    if (one.retired == one.entries) ++result.retired;
  }
  return result;
}

}  // namespace tilesmith::tuner
