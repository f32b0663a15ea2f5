#include "tuner/schedule/shards.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace tilesmith::tuner {
namespace {

constexpr std::int64_t kEvenPercent = 102;  // of an even share: a part that holds no more gives nothing away

/// Tasks of one signature together; of these, those that multiply by matrices of one shape; of these, by their rows.
std::vector<std::size_t> by_likeness(const Workload& workload) {
  using Key = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t, std::string, std::size_t>;
  std::vector<Key> keys;
  for (std::size_t i = 0; i < workload.tasks.size(); ++i) {
    const Task& task = workload.tasks[i].task;
    if (!task.is_gemm()) {
      keys.emplace_back(task.kernel().kernel, 0, 0, 0, text(task), i);
      continue;
    }
    const Problem& p = task.problem();
    keys.emplace_back(text(p.signature()), p.k, p.n, p.m, text(p), i);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::size_t> order;
  for (const Key& key : keys) order.push_back(std::get<std::size_t>(key));
  return order;
}

using Loads = std::vector<std::int64_t>;

/// Cuts the sequence where the sums pass a `count`th of the whole, each task in the part in which its middle lies.
std::vector<std::size_t> cut(const std::vector<std::size_t>& order, const Loads& loads, std::size_t count) {
  const std::int64_t all = std::accumulate(loads.begin(), loads.end(), std::int64_t{0});
  std::vector<std::size_t> parts(loads.size());
  std::int64_t before = 0;
  for (const std::size_t i : order) {
    const std::int64_t middle = (2 * before + loads[i]) * std::int64_t(count) / (2 * all);
    parts[i] = std::min(std::size_t(middle), count - 1);
    before += loads[i];
  }
  return parts;
}

/// Moves tasks from the fullest part to the emptiest while that makes the fuller of the two emptier, the one that
/// evens them best first. A part that has nothing to give, as with one task that outweighs all, is left as it is.
void even_out(
    std::vector<std::size_t>& parts, const std::vector<std::size_t>& order, const Loads& loads, std::size_t count) {
  Loads sums(count, 0);
  std::vector<std::vector<std::size_t>> members(count);
  for (const std::size_t i : order) {
    sums[parts[i]] += loads[i];
    members[parts[i]].push_back(i);
  }
  std::vector<char> left_alone(count, 0);
  std::int64_t all = std::accumulate(sums.begin(), sums.end(), std::int64_t{0}), open = std::int64_t(count);
  for (std::size_t moves = 0; moves < 4 * loads.size() && open > 1;) {
    std::size_t fullest = count, emptiest = 0;
    for (std::size_t part = 0; part < count; ++part) {
      if (!left_alone[part] && (fullest == count || sums[part] > sums[fullest])) fullest = part;
      if (sums[part] < sums[emptiest]) emptiest = part;
    }
    const std::int64_t gap = sums[fullest] - sums[emptiest];
    if (100 * open * sums[fullest] <= kEvenPercent * all) return;
    std::vector<std::size_t>& from = members[fullest];
    const auto off = [&](std::size_t i) { return std::abs(2 * loads[i] - gap); };
    const auto best =
        std::min_element(from.begin(), from.end(), [&](std::size_t x, std::size_t y) { return off(x) < off(y); });
    if (best == from.end() || loads[*best] >= gap) {
      left_alone[fullest] = 1;
      all -= sums[fullest];
      --open;
      continue;
    }
    ++moves;
    parts[*best] = emptiest;
    sums[fullest] -= loads[*best];
    sums[emptiest] += loads[*best];
    members[emptiest].push_back(*best);
    from.erase(best);
  }
}

}  // namespace

std::vector<std::int64_t> loads_of(const Workload& workload, const std::function<double(const Task&)>& us) {
  std::vector<double> costs(workload.tasks.size());
  double all = 0;
  for (const std::size_t i : by_likeness(workload))
    all += costs[i] = workload.tasks[i].weight * us(workload.tasks[i].task);
  const bool known = all > 0 && std::isfinite(all);
  Loads loads;
  for (const double cost : costs) {
    const double load = known ? kEqualLoad + (1 - kEqualLoad) * cost / all * double(costs.size()) : 1;
    loads.push_back(std::llround(1e6 * load));
  }
  return loads;
}

std::vector<std::size_t> shards_of(
    const Workload& workload, std::size_t count, const std::function<double(const Task&)>& us) {
  if (workload.tasks.empty()) return {};
  const Loads loads = loads_of(workload, us);
  const std::vector<std::size_t> order = by_likeness(workload);
  std::vector<std::size_t> parts = cut(order, loads, count);
  even_out(parts, order, loads, count);
  return parts;
}

Workload part_of(const Workload& workload, Shard shard, const std::function<double(const Task&)>& us) {
  const std::vector<std::size_t> parts = shards_of(workload, shard.count, us);
  Workload part = workload;
  part.tasks.clear();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == shard.index) part.tasks.push_back(workload.tasks[i]);
  }
  return part;
}

}  // namespace tilesmith::tuner
