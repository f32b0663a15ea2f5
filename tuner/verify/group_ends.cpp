// Which ends the suite's groups have.
#include "kernels/problem/group_ends.hpp"

#include "tuner/verify/shared_rules.hpp"
#include "tuner/verify/suite_cases.hpp"

namespace tilesmith::tuner {

std::vector<std::int32_t> group_ends_of_case(const Problem& problem, std::size_t number) {
  const auto m = std::int32_t(problem.m);
  const auto groups = std::size_t(problem.batch);
  std::vector<std::int32_t> ends = even_ends(m, problem.batch);
  switch (number % 10) {
    case 0: break;
    case 1:  // the first is empty, and a third of the rows behind the last is nobody's
      for (std::size_t g = 0; g < groups; ++g)
        ends[g] = std::int32_t(m * std::int64_t(2 * g) / std::int64_t(3 * groups));
      break;
    case 2:  // within, every other one is empty
      for (std::size_t g = 1; g < groups; g += 2) ends[g] = ends[g - 1];
      ends.back() = m;
      break;
    case 3:  // the last is empty
      if (groups > 1) ends[groups - 2] = m;
      break;
    case 4:  // one within has all rows
      for (std::size_t g = 0; g < groups; ++g) ends[g] = g < groups / 2 ? 0 : m;
      break;
    case 5:  // the first has one row
      ends.front() = std::min(1, m);
      for (std::size_t g = 1; g < groups; ++g) ends[g] = std::max(ends[g], ends[g - 1]);
      break;
    case 6:  // at random
      for (std::size_t g = 0; g < groups; ++g)
        ends[g] = std::int32_t(verify::mixed(number, g, 13) % std::uint64_t(m + 1));
      std::ranges::sort(ends);
      break;
    case 7:  // few rows of many
      for (std::int32_t& end : ends) end /= 3;
      break;
    case 8:  // one lies before the one ahead of it
      ends[groups / 2] = ends[groups / 2] / 2 - 3;
      break;
    default:  // the last two lie behind M
      ends.back() = m + 1000;
      if (groups > 2) ends[groups - 2] = m + 7;
      break;
  }
  return ends;
}

}  // namespace tilesmith::tuner
