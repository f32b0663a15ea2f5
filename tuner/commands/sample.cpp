#include "tuner/commands/sample.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <unordered_set>

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kDrawsPerPick = 64;

/// How often each value of each parameter occurs in the sample so far.
class Coverage {
 public:
  double cost(const Config& config) const {
    double sum = 0;
    for (const auto& [parameter, value] : config.values()) {
      const auto seen = counts_.find({parameter, value});
      if (seen != counts_.end()) sum += seen->second;
    }
    return sum;
  }
  void add(const Config& config) {
    for (const auto& [parameter, value] : config.values()) ++counts_[{parameter, value}];
  }

 private:
  std::map<Config::Value, int> counts_;
};

}  // namespace

std::vector<Config> first_choices(const Family& family, const KernelTarget& target) {
  std::vector<Config> first;
  const Config generic = generic_config(target);
  if (generic.family() == family.name()) first.push_back(generic);
  for (const Config& seed : family.seeds(target, ordinary_problem(target))) first.push_back(seed);
  for (const NamedConfig& rung : family.ladder(target)) first.push_back(rung.config);
  return first;
}

std::vector<Config> spread_sample(const Space& space, const std::vector<Config>& first, std::size_t most, std::uint64_t seed) {
  if (space.configs.size() <= most) return space.configs;
  std::vector<Config> sample;
  std::unordered_set<std::size_t> taken;
  Coverage coverage;
  const auto take = [&](std::size_t index) {
    if (sample.size() >= most || !taken.insert(index).second) return;
    sample.push_back(space.configs[index]);
    coverage.add(space.configs[index]);
  };
  for (const Config& config : first) {
    const auto found = std::find(space.configs.begin(), space.configs.end(), config);
    if (found != space.configs.end()) take(std::size_t(found - space.configs.begin()));
  }
  std::mt19937_64 random(seed);  // its sequence is fixed by the standard; its distributions are not, so none is used
  while (sample.size() < most) {
    std::size_t best = space.configs.size();
    double best_cost = 0;
    for (std::size_t draw = 0; draw < kDrawsPerPick || best == space.configs.size(); ++draw) {
      const std::size_t index = random() % space.configs.size();
      if (taken.contains(index)) continue;
      const double cost = coverage.cost(space.configs[index]);
      if (best == space.configs.size() || cost < best_cost) {
        best = index;
        best_cost = cost;
      }
    }
    take(best);
  }
  return sample;
}

}  // namespace tilesmith::tuner
