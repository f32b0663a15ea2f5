#include "tuner/bests/trust_counts.hpp"

#include <fmt/format.h>

#include <unordered_set>
#include <vector>

#include "tuner/bests/judge.hpp"

namespace tilesmith::tuner {

std::size_t TrustCounts::all() const {
  std::size_t sum = 0;
  for (const auto& [trust, candidates] : of) sum += candidates;
  return sum;
}

std::map<std::string, std::map<std::string, TrustCounts>> trust_counts(const db::Store& store) {
  std::map<std::string, std::map<std::string, TrustCounts>> counts;
  Devices devices;
  for (const auto& [signature, problems] : judged_together(store)) {
    const std::vector<db::Record> entries = entries_of(store, problems);
    const Judge judge(entries, devices);
    std::unordered_set<std::string> candidates;
    for (const db::Record& entry : entries) {
      const std::string device = db::text(entry.device);
      if (!candidates.insert(fmt::format("{}\n{}\n{}", text(entry.problem), device, entry.config.text())).second) continue;
      ++counts[device][entry.config.family()].of[db::judge(entry, judge.now(entry))];
    }
  }
  return counts;
}

}  // namespace tilesmith::tuner
