#include "runtime/cublas/families.hpp"

#include <map>
#include <unordered_map>

namespace tilesmith::cublas {
namespace {

constexpr std::int64_t kFollowsM = -1;

struct KeyHash {
  std::size_t operator()(const ProblemKey& key) const noexcept { return std::size_t(hash_of(key)); }
};

using Family = std::map<std::int64_t, std::uint64_t>;  // calls by M

/// Rows of A as it is stored, of a problem with so many M.
std::int64_t rows_of_a(const ProblemKey& key, std::int64_t m) { return key.trans_a != 0 ? key.k : m; }

/// What the problems of a family have in common: M is 0, and what grows with it is kFollowsM.
ProblemKey common_of(const ProblemKey& key) {
  ProblemKey common = key;
  common.m = 0;
  if (key.trans_a != 0 && key.lda == key.m) common.lda = kFollowsM;
  if (key.batch_kind == std::uint8_t(BatchKind::strided)) {
    if (key.stride_a == rows_of_a(key, key.m) * key.lda) common.stride_a = kFollowsM;
    if (key.stride_c == key.m * key.ldc) common.stride_c = kFollowsM;
  }
  return common;
}

ProblemKey with_m(const ProblemKey& common, std::int64_t m) {
  ProblemKey key = common;
  key.m = m;
  if (common.lda == kFollowsM) key.lda = m;
  if (common.stride_a == kFollowsM) key.stride_a = rows_of_a(key, m) * key.lda;
  if (common.stride_c == kFollowsM) key.stride_c = m * key.ldc;
  return key;
}

/// Above the seen ones a size may not fit: the rows of a stored A, or the entries of a batch, may lie too close for it.
std::int64_t most_that_fits(const ProblemKey& common, std::int64_t largest_seen) {
  const bool is_free = (common.trans_a == 0 || common.lda == kFollowsM) &&
                       (common.batch_kind != std::uint8_t(BatchKind::strided) || (common.stride_a == kFollowsM && common.stride_c == kFollowsM));
  return is_free ? kLargestSize : largest_seen;
}

std::vector<std::int64_t> sizes_to_add(const ProblemKey& common, const Family& seen, const Buckets& buckets) {
  std::vector<std::int64_t> sizes;
  if (seen.size() < 2) return sizes;
  const std::int64_t least = seen.begin()->first, largest = seen.rbegin()->first;
  for (std::int64_t size = 1; buckets.powers && size < largest; size *= 2) {
    if (size > least && seen.count(size) == 0) sizes.push_back(size);
  }
  for (const auto& [first, last] : buckets.ranges) {
    for (std::int64_t size = first; size <= last && size <= most_that_fits(common, largest); ++size) {
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

void add_family(WorkloadText& text, const ProblemKey& common, const Family& seen, const Buckets& buckets, const Judge& judge) {
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
    if (!workload_line(with_m(common, m), judge, line)) {
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

WorkloadText workload_text(const std::vector<CountedProblem>& seen, const Buckets& buckets, const std::string& head, const Judge& judge) {
  std::unordered_map<ProblemKey, std::size_t, KeyHash> known;
  std::vector<std::pair<ProblemKey, Family>> families;  // in the order in which they were met
  for (const CountedProblem& one : seen) {
    const auto [at, is_new] = known.emplace(common_of(one.key), families.size());
    if (is_new) families.emplace_back(at->first, Family{});
    families[at->second].second[one.key.m] += one.calls;
  }
  WorkloadText result;
  result.text = "# " + head + "\nweights calls\n";
  for (const auto& [common, family] : families) add_family(result, common, family, buckets, judge);
  for (const auto& [field, one] : result.left_out) result.text += "# left out, " + std::to_string(one.calls) + (one.calls == 1 ? " call: " : " calls: ") + one.why + "\n";
  return result;
}

}  // namespace tilesmith::cublas
