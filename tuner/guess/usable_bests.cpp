#include "tuner/guess/usable_bests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tilesmith::tuner {

UsableBests usable_bests(const std::vector<db::Evidence>& entries,
                         const std::function<db::Producer(const db::Evidence&)>& now) {
  struct Found {
    std::vector<db::Judged> timed;  // the latest entries of candidates, where they are ok
    bool any_usable = false;
  };
  std::map<std::string, Found> by_problem;
  std::unordered_set<std::string> candidates;
  for (const db::Evidence& entry : entries) {
    const std::string place = fmt::format("{}\n{}", text(entry.problem), db::text(entry.device));
    Found& found = by_problem[place];
    const db::Trust trust = db::judge(entry.producer, now(entry));
    if (trust == db::Trust::retired) continue;
    found.any_usable = true;
    if (!candidates.insert(fmt::format("{}\n{}", place, entry.config.text())).second) continue;
    if (entry.outcome.status == db::Status::ok && entry.outcome.timing) found.timed.push_back({&entry, trust});
  }
  UsableBests result;
  for (auto& [place, found] : by_problem) {
    db::keep_comparable(found.timed);
    const auto rank = [](const db::Judged& of) {
      return std::pair(of.entry->outcome.timing->median_us, of.entry->config.text());
    };
    const auto best = std::min_element(found.timed.begin(), found.timed.end(),
                                       [&](const db::Judged& a, const db::Judged& b) { return rank(a) < rank(b); });
    if (best != found.timed.end()) result.bests.push_back(*best->entry);
    if (!found.any_usable) ++result.retired;
  }
  return result;
}

}  // namespace tilesmith::tuner
