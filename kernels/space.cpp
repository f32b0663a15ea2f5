#include "kernels/space.hpp"

namespace tilesmith {
namespace {

/// Steps the odometer; false when it has gone round.
bool advance(std::vector<std::size_t>& digits, const std::vector<Parameter>& parameters) {
  for (std::size_t i = digits.size(); i-- > 0;) {
    if (++digits[i] < parameters[i].values.size()) return true;
    digits[i] = 0;
  }
  return false;
}

}  // namespace

Space enumerate_space(const Family& family, const KernelTarget& target) {
  Space space;
  space.family = family.name();
  if (!family.supports(target)) return space;
  space.parameters = family.parameters(target);
  const std::vector<Rule> rules = family.rules(target);
  for (const Rule& rule : rules) space.removed.push_back({rule.name, rule.reason, 0});

  std::vector<Config::Value> values;
  for (const Parameter& parameter : space.parameters) {
    if (parameter.values.empty()) return space;
    values.emplace_back(parameter.name, parameter.values.front());
  }
  Config config(space.family, values);
  std::vector<std::size_t> digits(space.parameters.size(), 0);
  do {
    ++space.combinations;
    for (std::size_t i = 0; i < digits.size(); ++i) {
      config.set(space.parameters[i].name, space.parameters[i].values[digits[i]]);
    }
    std::size_t broken = 0;
    while (broken < rules.size() && rules[broken].holds(config)) ++broken;
    if (broken == rules.size()) space.configs.push_back(config);
    else ++space.removed[broken].removed;
  } while (advance(digits, space.parameters));
  return space;
}

}  // namespace tilesmith
