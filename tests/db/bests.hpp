// The bests of a store by the one ranking, for tests to which it does not matter what today's programs and drivers are.
#pragma once

#include <vector>

#include "db/export.hpp"
#include "db/ranked.hpp"

namespace tilesmith::db::test {

/// As if each entry were of today: the fastest of the latest entries of all candidates, by the texts of problem and device.
inline std::vector<JudgedBest> bests_of(const Store& store, const EvidenceFilter& filter = {}) {
  const std::vector<Evidence> entries = store.evidence(filter);
  std::vector<JudgedBest> bests;
  for (const RankedProblem& one : rank(entries, [](const Evidence& entry) { return entry.producer; })) {
    if (!one.best.empty())
      bests.push_back({*one.best.front().entry, std::int64_t(one.best.size() + one.failed.size()), std::int64_t(one.best.size()), "valid"});
  }
  return bests;
}

}  // namespace tilesmith::db::test
