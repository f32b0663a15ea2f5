#include "tuner/warm_start/own_kernel_start.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "db/store/ranked.hpp"
#include "tuner/warm_start/finalists.hpp"

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kMostFormerOfKernel = 8, kMostNear = 8, kOfOneTask = 2;

/// The fastest at other sizes of what may run at these, the nearest sizes first.
std::vector<Config> nearest_bests(
    const own::Kernel& kernel, const SizedKernel& sized, const InitialConfigsFor& whom, const db::Store& store) {
  const std::vector<db::Record> entries =
      store.records({.family = kernel.name(), .device_exactly = whom.device, .latest_only = true});
  std::vector<std::pair<double, const db::Judged*>> near;
  const std::vector<db::RankedTask> ranked =
      db::rank(entries, [&](const db::Record& entry) { return whom.environment(entry.config.family()); });
  for (const db::RankedTask& one : ranked) {
    if (one.task().is_gemm() || one.task() == Task(sized) || kernel.sizes_error(one.task().kernel())) continue;
    for (std::size_t i = 0; i < std::min(one.best.size(), kOfOneTask); ++i)
      near.emplace_back(sizes_apart(one.task().kernel(), sized), &one.best[i]);
  }
  std::ranges::stable_sort(near, {}, [](const auto& one) { return one.first; });
  std::vector<Config> configs;
  for (const auto& [apart, best] : near) {
    if (configs.size() == kMostNear) break;
    configs.push_back(best->entry->config);
  }
  return configs;
}

}  // namespace

double sizes_apart(const SizedKernel& a, const SizedKernel& b) {
  double sum = 0;
  for (std::size_t i = 0; i < std::min(a.sizes.size(), b.sizes.size()); ++i) {
    const double ratio = std::log(double(a.sizes[i].second) / double(b.sizes[i].second));
    sum += ratio * ratio;
  }
  return std::sqrt(sum);
}

InitialConfigs own_kernel_start(
    const own::Kernel& kernel, const SizedKernel& sized, const InitialConfigsFor& whom, const db::Store& store) {
  const auto runs = [&](const Config& config) {
    return !kernel.refused_because(config, sized, whom.limits) && (!whom.knows || whom.knows(Task(sized), config));
  };
  Today today;
  today.config = [&](const Config& config) { return runs(config) ? std::optional(config) : std::nullopt; };
  today.environment = whom.environment;
  OwnRecords own = own_records(store.records({.task = sized, .device_exactly = whom.device}), today);

  InitialConfigs start;
  start.best_is_lost = own.best_is_lost;
  start.known = std::move(own.known);
  std::set<std::string> seen;
  for (const KnownCandidate& known : start.known) seen.insert(known.config.text());
  const auto add = [&](const Config& config) {
    if (runs(config) && seen.insert(config.text()).second) start.to_try.push_back(config);
  };
  if (whom.only_finalists > 0) {
    for (const Config& config : former_finalists(own.former, whom.only_finalists)) add(config);
    return start;
  }
  own.former_times.resize(std::min(own.former_times.size(), kMostFormerOfKernel));
  for (const std::vector<Config>& list :
      {own.to_reverify, own.former_times, nearest_bests(kernel, sized, whom, store)}) {
    for (const Config& config : list) add(config);
  }
  return start;
}

}  // namespace tilesmith::tuner
