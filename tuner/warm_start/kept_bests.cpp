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
  std::vector<Task> changed = store_.tasks_since(until_);
  std::erase_if(changed, [](const Task& task) { return !task.is_gemm(); });
  until_ = until;
  if (changed.empty()) return;
  for (const Task& task : changed) {
    const std::vector<db::Record> entries = store_.records({.task = task});
    std::vector<db::Record>& bests = by_problem_[text(task)];
    bests.clear();
    for (const db::RankedTask& one : db::rank(entries, now_)) {
      const std::vector<db::Judged>& times = one.best.empty() ? one.retired_times : one.best;
      if (!times.empty()) bests.push_back(*times.front().entry);
    }
  }
  all_.clear();
  for (const auto& [problem, bests] : by_problem_) all_.insert(all_.end(), bests.begin(), bests.end());
}

}  // namespace tilesmith::tuner
