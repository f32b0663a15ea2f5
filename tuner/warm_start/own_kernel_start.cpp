#include "tuner/warm_start/own_kernel_start.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "db/store/ranked.hpp"
#include "kernels/own/kernel.hpp"

namespace tilesmith::tuner {

constexpr std::size_t kOfOtherSizes = 8, kOfOneTask = 2;

double sizes_apart(const SizedKernel& a, const SizedKernel& b) {
  double sum = 0;
  for (std::size_t i = 0; i < std::min(a.sizes.size(), b.sizes.size()); ++i) {
    const double ratio = std::log(double(a.sizes[i].second) / double(b.sizes[i].second));
    sum += ratio * ratio;
  }
  return std::sqrt(sum);
}

std::vector<Config> bests_at_nearest_sizes(
    const SizedKernel& sized, const InitialConfigsFor& whom, const db::Store& store) {
  const own::Kernel& kernel = own::kernel_of(sized);
  const std::vector<db::Record> entries =
      store.records({.family = sized.kernel, .device_exactly = whom.device, .latest_only = true});
  std::vector<std::pair<double, const db::Judged*>> near;
  const std::vector<db::RankedTask> ranked =
      db::rank(entries, [&](const db::Record& entry) { return whom.environment(entry.config.family()); });
  for (const db::RankedTask& one : ranked) {
    if (one.task().is_gemm() || one.task() == Task(sized) || kernel.sizes_error(one.task().kernel())) continue;
    for (std::size_t i = 0; i < std::min(one.best.size(), kOfOneTask); ++i)
      near.emplace_back(sizes_apart(one.task().kernel(), sized), &one.best[i]);
  }
  std::ranges::stable_sort(near, {}, [](const auto& one) { return one.first; });
  near.resize(std::min(near.size(), kOfOtherSizes));
  std::vector<Config> configs;
  for (const auto& [apart, best] : near) configs.push_back(best->entry->config);
  return configs;
}

}  // namespace tilesmith::tuner
