#include "runtime/cublas/calls/families.hpp"

#include <unordered_map>

namespace tilesmith::cublas {
namespace {

using Family = std::map<std::int64_t, std::uint64_t>;  // calls by M

ProblemKey with_m(ProblemKey key, std::int64_t m) {
  key.problem.m = m;
  return key;
}

/// Above the seen ones a size may not fit: the rows of a stored A, or the entries of a batch, may lie too close for it.
std::int64_t most_that_fits(const tilesmith_problem& common, std::int64_t largest_seen) {
  const bool rows_fit = common.transposes[0] == 'N' || common.lda == 0;
  const bool entries_fit = common.batch_mode != TILESMITH_STRIDED ||
                           (common.stride_a == TILESMITH_PACKED && common.stride_c == TILESMITH_PACKED);
  return rows_fit && entries_fit ? kLargestSize : largest_seen;
}

std::vector<std::int64_t> sizes_to_add(const ProblemKey& common, const Family& seen, const Buckets& buckets) {
  std::vector<std::int64_t> sizes;
  if (seen.size() < 2) return sizes;
  const std::int64_t least = seen.begin()->first, largest = seen.rbegin()->first;
  for (std::int64_t size = 1; buckets.powers && size < largest; size *= 2) {
    if (size > least && seen.count(size) == 0) sizes.push_back(size);
  }
  for (const auto& [first, last] : buckets.ranges) {
    for (std::int64_t size = first; size <= last && size <= most_that_fits(common.problem, largest); ++size) {
      if (seen.count(size) == 0) sizes.push_back(size);
    }
  }
  return sizes;
}

void leave_out(WorkloadText& text, const std::string& why, std::uint64_t calls) {
  LeftOut& left_out = text.left_out[why.substr(0, why.find(' '))];
  if (left_out.calls == 0) left_out.why = why;
  left_out.calls += calls;
}

void add_family(
    WorkloadText& text, const ProblemKey& common, const Family& seen, const Buckets& buckets, const Judge& judge) {
  std::uint64_t all = 0, rarest = seen.begin()->second;
  for (const auto& [m, calls] : seen) {
    all += calls;
    rarest = calls < rarest ? calls : rarest;
  }
  Family sizes = seen;
  for (const std::int64_t m : sizes_to_add(common, seen, buckets)) sizes.emplace(m, rarest);
  if (seen.size() > 1) {
    ++text.families;
    text.text += "# M of " + std::to_string(seen.size()) + " sizes, " + std::to_string(seen.begin()->first) + " to " +
                 std::to_string(seen.rbegin()->first) + ", " + std::to_string(all) + " calls:\n";
  }
  for (const auto& [m, calls] : sizes) {
    const bool is_added = seen.count(m) == 0;
    std::string line;
    if (!workload_line(with_m(common, m).problem, judge, line)) {
      if (!is_added) leave_out(text, line, calls);
      continue;
    }
    text.text += line + " " + std::to_string(calls) + (is_added ? "  # not seen\n" : "\n");
    ++text.problems;
    text.added += is_added ? 1 : 0;
    text.calls += is_added ? 0 : calls;
  }
}

}  // namespace

WorkloadText workload_text(
    const std::vector<CountedProblem>& seen, const Buckets& buckets, const std::string& head, const Judge& judge) {
  std::unordered_map<ProblemKey, std::size_t, HashOfKey> known;
  std::vector<std::pair<ProblemKey, Family>> families;  // in the order in which they were met
  for (const CountedProblem& one : seen) {
    const auto [at, is_new] = known.emplace(with_m(one.key, 0), families.size());
    if (is_new) families.emplace_back(at->first, Family{});
    families[at->second].second[one.key.problem.m] += one.calls;
  }
  WorkloadText result;
  result.text = "# " + head + "\nweights calls\n";
  for (const auto& [common, family] : families) add_family(result, common, family, buckets, judge);
  for (const auto& [field, one] : result.left_out)
    result.text +=
        "# left out, " + std::to_string(one.calls) + (one.calls == 1 ? " call: " : " calls: ") + one.why + "\n";
  return result;
}

}  // namespace tilesmith::cublas
