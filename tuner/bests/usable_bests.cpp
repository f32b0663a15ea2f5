#include "tuner/bests/usable_bests.hpp"

#include "db/store/ranked.hpp"
#include "kernels/families/family.hpp"

namespace tilesmith::tuner {

bool rules_allow(const db::Record& entry, const DeviceLimits& limits) {
  const Family* family = find_family(entry.config.family());
  return family != nullptr && !illegal_because(*family, entry.config, {entry.problem, limits}) &&
         !refused_because(*family, entry.config, entry.problem);
}

UsableBests usable_bests(const std::vector<db::Record>& entries,
                         const std::function<db::Environment(const db::Record&)>& now,
                         const std::function<bool(const db::Record&)>& runs, std::size_t most) {
  UsableBests result;
  for (const db::RankedProblem& one : db::rank(entries, now)) {
    std::size_t found = 0;
    for (auto judged = one.best.begin(); judged != one.best.end() && found < most; ++judged) {
      if (runs && !runs(*judged->entry)) continue;
      result.bests.push_back(*judged);
      ++found;
    }
    if (one.retired_entries == one.entries) ++result.retired_problems;
  }
  return result;
}

}  // namespace tilesmith::tuner
