#include "runtime/choose/neighbour.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace tilesmith::runtime {
namespace {

constexpr double kAlignmentDoublings = 0.5;  // for each halving of one operand's row alignment
constexpr double kBetaDoublings = 0.05;
constexpr double kEpilogueDoublings = 0.1;
constexpr double kScalarsDoublings = 0.02;
constexpr double kBatchModeDoublings = 0.05;
constexpr double kSimilarDeviceDoublings = 0.02;
constexpr double kOtherDeviceDoublings = 2;

double log2_ratio(std::int64_t a, std::int64_t b) { return std::log2(double(a) / double(b)); }

/// Halvings between the alignments of the rows of A, B and C, in bytes: each problem's as its own types store them.
double alignment_distance(const Problem& a, const Problem& b) {
  const auto halvings = [&](int (*align_bytes)(const Problem&)) {
    return std::abs(log2_ratio(align_bytes(a), align_bytes(b)));
  };
  return halvings(a_align_bytes) + halvings(b_align_bytes) + halvings(c_align_bytes);
}

}  // namespace

double distance(const Problem& measured_as, const Problem& problem_as) {
  const Problem measured = evenly_split(measured_as), problem = evenly_split(problem_as);
  const double dm = log2_ratio(problem.m, measured.m);
  const double dn = log2_ratio(problem.n, measured.n);
  const double dk = log2_ratio(problem.k, measured.k);
  const double entries =
      log2_ratio(std::max<std::int64_t>(problem.batch, 1), std::max<std::int64_t>(measured.batch, 1));
  return std::sqrt(dm * dm + dn * dn + dk * dk + entries * entries) +
         kAlignmentDoublings * alignment_distance(as_planned(problem), as_planned(measured)) +
         (problem.beta == measured.beta ? 0 : kBetaDoublings) +
         (problem.epilogue == measured.epilogue ? 0 : kEpilogueDoublings) +
         (problem.scalars == measured.scalars ? 0 : kScalarsDoublings) +
         (problem_as.batch_mode == measured_as.batch_mode ? 0 : kBatchModeDoublings);
}

double device_doublings(const db::DeviceIdentity& on, const db::DeviceIdentity& here) {
  if (on == here) return 0;
  return db::are_similar(on, here) ? kSimilarDeviceDoublings * (1 + db::sm_doublings(on, here)) : kOtherDeviceDoublings;
}

void Sisters::add(const db::RankedTask& measured) {
  by_plainest_.emplace(text(plainest_sister(measured.problem())), &measured);
}

std::vector<const db::RankedTask*> Sisters::nearest_first(const Problem& problem) const {
  std::vector<std::tuple<double, bool, std::string, const db::RankedTask*>> found;
  const auto [first, last] = by_plainest_.equal_range(text(plainest_sister(problem)));
  for (auto at = first; at != last; ++at) {
    const Problem& other = at->second->problem();
    if (are_sisters(other, problem))
      found.emplace_back(distance(other, problem), !other.epilogue.is_linear(), text(other), at->second);
  }
  std::ranges::sort(found);
  const auto is_plain = [](const Problem& one) { return one.epilogue.is_linear() && one.scalars == Scalars::host; };
  std::vector<const db::RankedTask*> nearest;
  if (found.empty() || (is_plain(problem) && is_plain(std::get<const db::RankedTask*>(found.front())->problem())))
    return nearest;
  for (const auto& one : found) nearest.push_back(std::get<const db::RankedTask*>(one));
  return nearest;
}

}  // namespace tilesmith::runtime
