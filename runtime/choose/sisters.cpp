#include "runtime/choose/sisters.hpp"

#include <algorithm>
#include <tuple>

#include "runtime/choose/neighbour.hpp"

namespace tilesmith::runtime {

void Sisters::add(const db::RankedProblem& measured) { by_plainest_.emplace(text(plainest_sister(measured.problem())), &measured); }

std::vector<const db::RankedProblem*> Sisters::nearest_first(const Problem& problem) const {
  std::vector<std::tuple<double, bool, std::string, const db::RankedProblem*>> found;
  const auto [first, last] = by_plainest_.equal_range(text(plainest_sister(problem)));
  for (auto at = first; at != last; ++at) {
    const Problem& other = at->second->problem();
    if (are_sisters(other, problem)) found.emplace_back(distance(other, problem), !other.epilogue.is_linear(), text(other), at->second);
  }
  std::ranges::sort(found);
  const auto is_plain = [](const Problem& one) { return one.epilogue.is_linear() && one.scalars == Scalars::host; };
  std::vector<const db::RankedProblem*> nearest;
  if (found.empty() || (is_plain(problem) && is_plain(std::get<const db::RankedProblem*>(found.front())->problem()))) return nearest;
  for (const auto& one : found) nearest.push_back(std::get<const db::RankedProblem*>(one));
  return nearest;
}

}  // namespace tilesmith::runtime
