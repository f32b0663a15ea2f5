// The bests of a store as they are exported, for tests to which it does not matter what they count.
#pragma once

#include <vector>

#include "db/export.hpp"

namespace tilesmith::db::test {

inline std::vector<JudgedBest> unjudged(const Store& store, const EvidenceFilter& filter = {}) {
  std::vector<JudgedBest> bests;
  for (const Best& best : store.best(filter)) bests.push_back({best, "valid"});
  return bests;
}

}  // namespace tilesmith::db::test
