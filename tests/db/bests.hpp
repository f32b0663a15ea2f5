// The bests of a store by the one ranking, for tests to which it does not matter what today's programs and drivers are.
#pragma once

#include <vector>

#include "db/exchange/export.hpp"
#include "db/store/ranked.hpp"
#include "kernels/families/plan_hash.hpp"

namespace tilesmith::db::test {

/// As if each entry were of today: the fastest of the latest entries of all candidates, by the texts of problem and
/// device.
inline std::vector<JudgedBest> bests_of(const Store& store, const RecordFilter& filter = {}) {
  const std::vector<Record> entries = store.records(filter);
  std::vector<Record> of_today = entries;
  for (Record& entry : of_today)
    entry.plan_hash = plan_hash(entry.config, entry.task.problem(), entry.environment.compiler_options);
  std::vector<JudgedBest> bests;
  for (const RankedTask& one : rank(of_today, [](const Record& entry) { return entry.environment; })) {
    if (!one.best.empty())
      bests.push_back({entries[std::size_t(one.best.front().entry - of_today.data())],
          std::int64_t(one.best.size() + one.failed.size()), std::int64_t(one.best.size()), "valid"});
  }
  return bests;
}

}  // namespace tilesmith::db::test
