#include "tuner/guess/kept_bests.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tilesmith::tuner {
namespace {

/// A best is one of these: the store need not rank the others.
db::EvidenceFilter right_ones() {
  db::EvidenceFilter filter;
  filter.status = db::Status::ok;
  return filter;
}

/// In the order of Store::best().
bool comes_first(const db::Best& a, const db::Best& b) {
  const auto order = [](const Problem& problem) {
    return std::tuple(problem.type.name, name(problem.trans), problem.m, problem.n, problem.k);
  };
  const Problem &of_a = a.evidence.problem, &of_b = b.evidence.problem;
  if (order(of_a) != order(of_b)) return order(of_a) < order(of_b);
  return std::pair(text(of_a), db::text(a.evidence.device)) < std::pair(text(of_b), db::text(b.evidence.device));
}

}  // namespace

const std::vector<db::Best>& KeptBests::all() {
  if (!bests_) {
    until_ = store_.last_entry();
    bests_ = store_.best(right_ones());
  }
  return *bests_;
}

void KeptBests::refresh() {
  if (!bests_) return;
  const std::int64_t until = store_.last_entry();
  db::EvidenceFilter of_one = right_ones();
  const std::vector<Problem> changed = store_.problems_since(until_);
  for (const Problem& problem : changed) {
    std::erase_if(*bests_, [&](const db::Best& best) { return best.evidence.problem == problem; });
    of_one.problem = problem;
    for (db::Best& best : store_.best(of_one)) bests_->push_back(std::move(best));
  }
  if (!changed.empty()) std::sort(bests_->begin(), bests_->end(), comes_first);
  until_ = until;
}

}  // namespace tilesmith::tuner
