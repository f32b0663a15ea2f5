#include "tuner/guess/usable_bests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "kernels/eligible.hpp"

namespace tilesmith::tuner {
namespace {

/// The order in which runtime/choose.cpp takes them.
bool better(const db::Judged& a, const db::Judged& b) {
  if (a.trust != b.trust) return a.trust < b.trust;
  const double of_a = a.entry->outcome.timing->median_us, of_b = b.entry->outcome.timing->median_us;
  return of_a != of_b ? of_a < of_b : a.entry->config.text() < b.entry->config.text();
}

}  // namespace

bool rules_allow(const db::Evidence& entry, const DeviceLimits& limits) {
  const Family* family = find_family(entry.config.family());
  return family != nullptr && !illegal_because(*family, entry.config, {entry.problem.type, entry.problem.trans, limits}) &&
         eligible(*family, entry.config, entry.problem);
}

UsableBests usable_bests(const std::vector<db::Evidence>& entries,
                         const std::function<db::Producer(const db::Evidence&)>& now,
                         const std::function<bool(const db::Evidence&)>& runs) {
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
    std::sort(found.timed.begin(), found.timed.end(), better);
    const auto best = std::find_if(found.timed.begin(), found.timed.end(),
                                   [&](const db::Judged& one) { return !runs || runs(*one.entry); });
    if (best != found.timed.end()) result.bests.push_back(*best);
    if (!found.any_usable) ++result.retired;
  }
  return result;
}

}  // namespace tilesmith::tuner
