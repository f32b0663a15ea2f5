#include "tuner/kept_bests.hpp"

#include <algorithm>
#include <string>
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

/// By which Store::best() orders them.
auto order_of(const db::Best& best) {
  const Problem& problem = best.evidence.problem;
  return std::tuple(problem.type.name, name(problem.trans), problem.m, problem.n, problem.k, text(problem),
                    db::text(best.evidence.device));
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
  for (const Problem& problem : store_.problems_since(until_)) {
    std::erase_if(*bests_, [&](const db::Best& best) { return best.evidence.problem == problem; });
    of_one.problem = problem;
    for (db::Best& best : store_.best(of_one)) bests_->push_back(std::move(best));
  }
  std::sort(bests_->begin(), bests_->end(),
            [](const db::Best& a, const db::Best& b) { return order_of(a) < order_of(b); });
  until_ = until;
}

}  // namespace tilesmith::tuner
