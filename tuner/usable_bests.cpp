#include "tuner/usable_bests.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <unordered_set>
#include <utility>

namespace tilesmith::tuner {

UsableBests usable_bests(const std::vector<db::Evidence>& entries,
                         const std::function<db::Producer(const db::Evidence&)>& now) {
  struct Found {
    const db::Evidence* best = nullptr;
    bool any_usable = false;
    bool of_today = false;      // the best's measuring policy
    std::string former_policy;  // the latest of the others
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
    if (entry.outcome.status != db::Status::ok || !entry.outcome.timing) continue;
    const bool of_today = trust != db::Trust::remeasure;
    if (!of_today && found.former_policy.empty()) found.former_policy = entry.producer.measuring_policy;
    if (!of_today && (found.of_today || entry.producer.measuring_policy != found.former_policy)) continue;
    if (of_today && !found.of_today) found.best = nullptr;
    found.of_today = of_today;
    const auto rank = [](const db::Evidence& of) { return std::pair(of.outcome.timing->median_us, of.config.text()); };
    if (found.best == nullptr || rank(entry) < rank(*found.best)) found.best = &entry;
  }
  UsableBests result;
  for (const auto& [place, found] : by_problem) {
    if (found.best != nullptr) result.bests.push_back(*found.best);
    if (!found.any_usable) ++result.retired;
  }
  return result;
}

}  // namespace tilesmith::tuner
