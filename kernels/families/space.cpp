#include "kernels/families/space.hpp"

#include <algorithm>
#include <iterator>

#include "kernels/base/on_all_cores.hpp"

namespace tilesmith {
namespace {

constexpr std::int64_t kParts = 64;  // of a space, at least: enough to keep the cores evenly busy

bool reads(const Rule& rule, const Parameter& parameter) {
  return std::find(rule.reads.begin(), rule.reads.end(), parameter.name) != rule.reads.end();
}

/// The parameters in an order in which rules can be asked early: next come those that the rule still lacks which lacks
/// the fewest combinations.
std::vector<Parameter> early_rules_first(std::vector<Parameter> left, const std::vector<Rule>& rules) {
  std::vector<Parameter> ordered;
  const auto lacks = [&](const Rule& rule) {  // combinations; 0: nothing
    std::int64_t combinations = 0;
    for (const Parameter& parameter : left) {
      if (reads(rule, parameter))
        combinations = std::max<std::int64_t>(1, combinations) * std::int64_t(parameter.values.size());
    }
    return combinations;
  };
  while (true) {
    const Rule* next = nullptr;
    for (const Rule& rule : rules) {
      if (lacks(rule) > 0 && (next == nullptr || lacks(rule) < lacks(*next))) next = &rule;
    }
    if (next == nullptr) break;
    const auto rest = std::stable_partition(
        left.begin(), left.end(), [&](const Parameter& parameter) { return reads(*next, parameter); });
    std::move(left.begin(), rest, std::back_inserter(ordered));
    left.erase(left.begin(), rest);
  }
  std::move(left.begin(), left.end(), std::back_inserter(ordered));
  return ordered;
}

/// Depth-first over the parameters: a rule is asked as soon as all that it reads is set, and what it removes there is
/// removed with all its continuations.
class Enumeration {
 public:
  Enumeration(const Space& space, const std::vector<Rule>& rules)
      : parameters_(early_rules_first(space.parameters, rules)), rules_(rules) {
    const std::size_t depths = parameters_.size();
    rules_at_.resize(depths + 1);
    for (std::size_t rule = 0; rule < rules.size(); ++rule) rules_at_[depth_of(rules[rule])].push_back(rule);
    continuations_.assign(depths + 1, 1);
    for (std::size_t i = depths; i-- > 0;) {
      continuations_[i] = continuations_[i + 1] * std::int64_t(parameters_[i].values.size());
    }
  }

  std::int64_t combinations() const { return continuations_[0]; }

  /// How many parameters must be set for their values to make so many parts of the space.
  std::size_t depth_of_parts(std::int64_t parts) const {
    std::size_t depth = 0;
    while (depth < parameters_.size() && continuations_[0] / std::max<std::int64_t>(1, continuations_[depth]) < parts)
      ++depth;
    return depth;
  }

  /// What is left of a part of the space, and how much of it each rule removed.
  struct Part {
    std::vector<Config> configs;
    std::vector<std::int64_t> removed;
  };

  /// All ways to set the parameters from `depth` to `end`, the ones before being set in `config`. Without `keep` they
  /// are counted only.
  Part run(Config config, std::size_t depth, std::size_t end, bool keep) const {
    Part part;
    part.removed.assign(rules_.size(), 0);
    extend(part, config, depth, end, keep, depth > 0);
    return part;
  }

 private:
  void extend(Part& part, Config& config, std::size_t depth, std::size_t end, bool keep, bool asked) const {
    for (const std::size_t rule : rules_at_[depth]) {
      if (asked || rules_[rule].holds(config)) continue;
      part.removed[rule] += continuations_[depth];
      return;
    }
    if (depth == end) {
      if (keep) part.configs.push_back(config);
      return;
    }
    for (const int value : parameters_[depth].values) {
      config.set(parameters_[depth].name, value);
      extend(part, config, depth + 1, end, keep, false);
    }
  }

  /// How many parameters must be set before the rule can be asked.
  std::size_t depth_of(const Rule& rule) const {
    if (rule.reads.empty()) return parameters_.size();
    std::size_t depth = 0;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (reads(rule, parameters_[i])) depth = i + 1;
    }
    return depth;
  }

  std::vector<Parameter> parameters_;
  const std::vector<Rule>& rules_;
  std::vector<std::vector<std::size_t>> rules_at_;  // by how many parameters must be set
  std::vector<std::int64_t> continuations_;         // combinations of the parameters from here on
};

Space enumerated(std::string name, std::vector<Parameter> parameters, const std::vector<Rule>& rules, bool keep) {
  Space space;
  space.family = std::move(name);
  space.parameters = std::move(parameters);
  for (const Rule& rule : rules) space.removed.push_back({rule.name, rule.reason, 0});
  for (const Parameter& parameter : space.parameters) {
    if (parameter.values.empty()) return space;
  }
  std::vector<Config::Value> values;
  for (const Parameter& parameter : space.parameters) values.emplace_back(parameter.name, parameter.values.front());
  const Enumeration enumeration(space, rules);
  space.combinations = enumeration.combinations();
  const std::size_t depth = enumeration.depth_of_parts(kParts), end = space.parameters.size();
  const Enumeration::Part head = enumeration.run(Config(space.family, std::move(values)), 0, depth, true);
  std::vector<Enumeration::Part> parts(head.configs.size());
  on_all_cores(parts.size(), [&](std::size_t i) { parts[i] = enumeration.run(head.configs[i], depth, end, keep); });
  std::size_t count = 0;
  for (const auto& part : parts) count += part.configs.size();
  space.configs.reserve(count);
  for (auto& part : parts) std::move(part.configs.begin(), part.configs.end(), std::back_inserter(space.configs));
  for (std::size_t rule = 0; rule < rules.size(); ++rule) {
    space.removed[rule].removed = head.removed[rule];
    for (const auto& part : parts) space.removed[rule].removed += part.removed[rule];
  }
  return space;
}

Space enumerated(const Family& family, const KernelTarget& target, bool keep) {
  if (!family.supports(target)) return {std::string(family.name()), {}, {}, 0, {}};
  return enumerated(std::string(family.name()), family.parameters(target), family.rules(target), keep);
}

}  // namespace

Space enumerate_space(const Family& family, const KernelTarget& target) { return enumerated(family, target, true); }

Space enumerate_space(std::string name, std::vector<Parameter> parameters, const std::vector<Rule>& rules) {
  return enumerated(std::move(name), std::move(parameters), rules, true);
}

std::int64_t count_legal(const Family& family, const KernelTarget& target) {
  const Space space = enumerated(family, target, false);
  std::int64_t legal = space.combinations;
  for (const RuleCount& rule : space.removed) legal -= rule.removed;
  return legal;
}

}  // namespace tilesmith
