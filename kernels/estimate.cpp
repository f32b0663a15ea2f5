#include "kernels/estimate.hpp"

#include <utility>

#include "kernels/mma/estimate.hpp"
#include "kernels/wgmma/estimate.hpp"

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

std::optional<Estimate> estimate(const Config& config, const KernelTarget& target, const Problem& problem) {
  if (config.family() == "mma") return mma::estimate(config, target, as_planned(problem));
  if (config.family() == "wgmma") return wgmma::estimate(config, target, as_planned(problem));
  return std::nullopt;
}

}  // namespace tilesmith
