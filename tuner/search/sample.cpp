#include "tuner/search/sample.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <unordered_set>
#include <utility>

namespace tilesmith::tuner {
namespace {

constexpr std::size_t kDrawsPerPick = 64;

/// How often each value of each parameter occurs in the sample so far.
class Coverage {
 public:
  bool has(const Config::Value& value) const { return counts_.count(value) != 0; }
  /// How many of the config's values none has yet, negated, and how often the others occurred: the less, the more it
  /// adds.
  std::pair<int, int> cost(const Config& config) const {
    std::pair<int, int> cost{0, 0};
    for (const Config::Value& value : config.values()) {
      const auto seen = counts_.find(value);
      if (seen == counts_.end()) --cost.first;
      else cost.second += seen->second;
    }
    return cost;
  }
  void add(const Config& config) {
    for (const auto& [parameter, value] : config.values()) ++counts_[{parameter, value}];
  }

 private:
  std::map<Config::Value, int> counts_;
};

/// Some configs, in the order of their indices, that have each value that none of the sample has: random draws from a
/// large space would hardly meet what few have.
std::vector<std::size_t> holders_of_missing(const Space& space, const Coverage& coverage, std::mt19937_64& random) {
  struct Holders {
    std::size_t count = 0;
    std::vector<std::size_t> some;  // each as likely as any other
  };
  std::map<Config::Value, Holders> missing;
  for (std::size_t index = 0; index < space.configs.size(); ++index) {
    for (const Config::Value& value : space.configs[index].values()) {
      if (coverage.has(value)) continue;
      Holders& holders = missing[value];
      if (++holders.count <= kDrawsPerPick) {
        holders.some.push_back(index);
      } else if (const std::size_t place = random() % holders.count; place < kDrawsPerPick) {
        holders.some[place] = index;
      }
    }
  }
  std::set<std::size_t> all;
  for (const auto& [value, holders] : missing) all.insert(holders.some.begin(), holders.some.end());
  return {all.begin(), all.end()};
}

}  // namespace

std::vector<Config> first_choices(const Family& family, const KernelTarget& target) {
  std::vector<Config> first;
  const Config generic = generic_config(target);
  if (generic.family() == family.name()) first.push_back(generic);
  for (const Config& seed : family.initial_configs(target, ordinary_problem(target))) first.push_back(seed);
  for (const NamedConfig& step : family.ladder(target)) first.push_back(step.config);
  return first;
}

void keep_serving(Space& space, const Family& family, std::span<const Problem> problems) {
  std::erase_if(space.configs, [&](const Config& config) {
    return std::all_of(problems.begin(), problems.end(),
        [&](const Problem& problem) { return refused_because(family, config, problem).has_value(); });
  });
}

std::vector<Config> spread_sample(
    const Space& space, const std::vector<Config>& first, std::size_t most, std::uint64_t seed) {
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
  const auto cost_of = [&](std::size_t index) { return coverage.cost(space.configs[index]); };
  const auto least = [&](const std::vector<std::size_t>& drawn) {
    return *std::min_element(
        drawn.begin(), drawn.end(), [&](std::size_t a, std::size_t b) { return cost_of(a) < cost_of(b); });
  };
  const std::vector<std::size_t> holders = holders_of_missing(space, coverage, random);
  while (sample.size() < most && !holders.empty()) {
    const std::size_t best = least(holders);
    if (cost_of(best).first == 0) break;  // no value is missing
    take(best);
  }
  while (sample.size() < most) {
    std::vector<std::size_t> drawn;
    for (std::size_t draw = 0; draw < kDrawsPerPick || drawn.empty(); ++draw) {
      const std::size_t index = random() % space.configs.size();
      if (!taken.contains(index)) drawn.push_back(index);
    }
    take(least(drawn));
  }
  return sample;
}

}  // namespace tilesmith::tuner
