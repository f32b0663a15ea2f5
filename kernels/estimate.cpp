#include "kernels/estimate.hpp"

#include <utility>

#include "kernels/gemv/estimate.hpp"
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

std::optional<Estimate> Family::own_estimate(const Config&, const KernelTarget&, const Problem&) const { return std::nullopt; }

std::optional<Estimate> estimate(const Config& config, const KernelTarget& target, const Problem& problem) {
  if (config.family() == "mma") return mma::estimate(config, target, as_planned(problem));
  if (config.family() == "wgmma") return wgmma::estimate(config, target, as_planned(problem));
  if (config.family() == "gemv") return gemv::estimate(config, target, as_planned(problem));
  const Family* family = find_family(config.family());
  return family == nullptr ? std::nullopt : family->own_estimate(config, target, as_planned(problem));
}

double rated_mhz(int sm) {
  switch (sm) {
    case 80: return 1410;
    case 86: return 1695;
    case 87: return 1300;
    case 89: return 2520;
    default: return 1755;
  }
}

}  // namespace tilesmith
