// Where the groups of a grouped problem end: what kernels are proven with and timed on, and what such ends mean.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tilesmith {

/// An even split of M rows: group g ends at M·(g+1)/groups.
inline std::vector<std::int32_t> even_ends(std::int64_t m, std::int64_t groups) {
  std::vector<std::int32_t> ends;
  for (std::int64_t group = 0; group < groups; ++group) ends.push_back(std::int32_t(m * (group + 1) / groups));
  return ends;
}

/// The rows that a group has: [begin, end).
struct GroupRows {
  std::int64_t begin = 0, end = 0;
};

/// Those of all groups, by kernels/problem/problem.hpp also where ends are wrong.
inline std::vector<GroupRows> rows_of_groups(const std::vector<std::int32_t>& ends, std::int64_t m) {
  std::vector<GroupRows> groups;
  std::int64_t begin = 0;
  for (const std::int32_t end : ends) {
    groups.push_back({begin, std::clamp<std::int64_t>(end, begin, m)});
    begin = groups.back().end;
  }
  return groups;
}

/// Whether a kernel has to report them.
inline bool are_wrong(const std::vector<std::int32_t>& ends, std::int64_t m) {
  return !std::ranges::is_sorted(ends) || (!ends.empty() && (ends.front() < 0 || ends.back() > m));
}

}  // namespace tilesmith
