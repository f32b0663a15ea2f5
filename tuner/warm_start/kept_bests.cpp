#include "tuner/warm_start/kept_bests.hpp"

#include "db/store/ranked.hpp"

namespace tilesmith::tuner {

const std::vector<db::Record>& KeptBests::all() {
  if (!asked_) {
    asked_ = true;
    refresh();
  }
  return all_;
}

void KeptBests::refresh() {
  if (!asked_) return;
  const std::int64_t until = store_.last_entry();
  const std::vector<Problem> changed = store_.problems_since(until_);
  until_ = until;
  if (changed.empty()) return;
  for (const Problem& problem : changed) {
    const std::vector<db::Record> entries = store_.records({.problem = problem});
    std::vector<db::Record>& bests = by_problem_[text(problem)];
    bests.clear();
    for (const db::RankedProblem& one : db::rank(entries, now_)) {
      const std::vector<db::Judged>& times = one.best.empty() ? one.retired_times : one.best;
      if (!times.empty()) bests.push_back(*times.front().entry);
    }
  }
  all_.clear();
  for (const auto& [problem, bests] : by_problem_) all_.insert(all_.end(), bests.begin(), bests.end());
}

}  // namespace tilesmith::tuner
