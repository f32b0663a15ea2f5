#include "kernels/space.hpp"

#include <algorithm>

namespace tilesmith {
namespace {

/// Depth-first over the parameters in their order: a rule is asked as soon as all that it reads is set, and what it
/// removes there is removed with all its continuations.
class Enumeration {
 public:
  Enumeration(Space& space, const std::vector<Rule>& rules) : space_(space), rules_(rules) {
    const std::size_t depths = space.parameters.size();
    rules_at_.resize(depths + 1);
    for (std::size_t rule = 0; rule < rules.size(); ++rule) rules_at_[depth_of(rules[rule])].push_back(rule);
    continuations_.assign(depths + 1, 1);
    for (std::size_t i = depths; i-- > 0;) {
      continuations_[i] = continuations_[i + 1] * std::int64_t(space.parameters[i].values.size());
    }
    space.combinations = continuations_[0];
    std::vector<Config::Value> values;
    for (const Parameter& parameter : space.parameters) values.emplace_back(parameter.name, parameter.values.front());
    config_ = Config(space.family, std::move(values));
  }

  /// The first `depth` parameters are set.
  void run(std::size_t depth = 0) {
    for (const std::size_t rule : rules_at_[depth]) {
      if (rules_[rule].holds(config_)) continue;
      space_.removed[rule].removed += continuations_[depth];
      return;
    }
    if (depth == space_.parameters.size()) {
      space_.configs.push_back(config_);
      return;
    }
    for (const int value : space_.parameters[depth].values) {
      config_.set(space_.parameters[depth].name, value);
      run(depth + 1);
    }
  }

 private:
  /// How many parameters must be set before the rule can be asked.
  std::size_t depth_of(const Rule& rule) const {
    if (rule.reads.empty()) return space_.parameters.size();
    std::size_t depth = 0;
    for (std::size_t i = 0; i < space_.parameters.size(); ++i) {
      const auto& name = space_.parameters[i].name;
      if (std::find(rule.reads.begin(), rule.reads.end(), name) != rule.reads.end()) depth = i + 1;
    }
    return depth;
  }

  Space& space_;
  const std::vector<Rule>& rules_;
  std::vector<std::vector<std::size_t>> rules_at_;  // by how many parameters must be set
  std::vector<std::int64_t> continuations_;         // combinations of the parameters from here on
  Config config_;
};

}  // namespace

Space enumerate_space(const Family& family, const KernelTarget& target) {
  Space space;
  space.family = family.name();
  if (!family.supports(target)) return space;
  space.parameters = family.parameters(target);
  const std::vector<Rule> rules = family.rules(target);
  for (const Rule& rule : rules) space.removed.push_back({rule.name, rule.reason, 0});
  for (const Parameter& parameter : space.parameters) {
    if (parameter.values.empty()) return space;
  }
  Enumeration(space, rules).run();
  return space;
}

}  // namespace tilesmith
