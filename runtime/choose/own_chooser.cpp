#include "runtime/choose/own_chooser.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>

#include "runtime/choose/choosers.hpp"

namespace tilesmith::runtime {

OwnChooser::OwnChooser(std::vector<db::Record> entries, const own::Kernel& kernel, const DeviceInfo& device)
    : kernel_(kernel),
      device_(device),
      entries_(std::move(entries)),
      now_(environment_to_judge_by(
          entries_, kernel.name(), device.identity, {{}, device.limits}, device.driver_version)),
      ranked_(db::rank(entries_, [&](const db::Record&) { return now_; })) {}

std::vector<Choice> OwnChooser::choices(const SizedKernel& sized) const {
  std::multimap<double, const db::RankedTask*> by_distance;  // 0: these sizes on this device
  std::set<std::string> failed, seen;
  for (const db::RankedTask& one : ranked_) {
    const SizedKernel& at = one.task().kernel();
    if (kernel_.sizes_error(at)) continue;
    for (const db::Record* entry : one.failed) failed.insert(entry->config.text());
    double distance = one.device() == device_.identity ? 0 : 1;
    for (std::size_t i = 0; i < at.sizes.size(); ++i)
      distance += std::abs(std::log2(double(at.sizes[i].second) / double(sized.sizes[i].second)));
    by_distance.emplace(distance, &one);
  }
  std::vector<Choice> found;
  for (const auto& [distance, task] : by_distance) {
    const Level level = distance == 0 ? Level::exact : Level::model;
    for (const db::Judged& one : task->best) {
      const Config& config = one.entry->config;
      if (level == Level::model && failed.contains(config.text())) continue;
      if (!seen.insert(config.text()).second || kernel_.refused_because(config, sized, device_.limits)) continue;
      const std::string reason = fmt::format("measured at {}: {:.2f} us",
          level == Level::exact ? "these sizes" : text(one.entry->task), one.entry->outcome.timing->median_us);
      found.push_back({config, level, reason, 0, *one.entry, one.trust, now_, {}});
    }
  }
  if (!found.empty()) return found;
  const std::vector<Config> legal = kernel_.space(sized, device_.limits).configs;
  if (legal.empty()) return found;
  found.emplace_back().config = legal.front();
  found[0].reason = "nothing was measured that may run at these sizes: the first legal config of kernel.json";
  return found;
}

}  // namespace tilesmith::runtime
