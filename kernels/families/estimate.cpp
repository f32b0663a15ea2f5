#include "kernels/families/estimate.hpp"

#include <utility>

namespace tilesmith {

std::string_view Estimate::bound_by() const {
  std::pair<std::string_view, double> longest{"multiplying", multiplying};
  const std::pair<std::string_view, double> others[] = {
      {"shared memory", shared_memory}, {"L2", l2}, {"DRAM", dram}, {"latency", latency}, {"storing", storing}};
  for (const auto& other : others) {
    if (other.second > longest.second) longest = other;
  }
  return longest.first;
}

double first_launch_cycles(const Config& config) {
  constexpr double kFirstLaunch = 2800;
  return config.has("early_launch") && config.at("early_launch") == 1 ? kFirstLaunch - 1 : kFirstLaunch;
}

double next_launch_cycles(bool overlaps) { return overlaps ? 3000 : 3500; }

double share_of_sms(int cluster) { return cluster >= 8 ? 0.85 : cluster >= 3 ? 0.9 : 1; }

std::optional<Estimate> Family::estimate(const Config&, const KernelTarget&, const Problem&) const {
  return std::nullopt;
}

std::optional<Estimate> estimate(const Config& config, const KernelTarget& target, const Problem& problem) {
  const Family* family = find_family(config.family());
  return family == nullptr ? std::nullopt : family->estimate(config, target, as_planned(problem));
}

}  // namespace tilesmith
