// A family's space: every combination of its parameters' values that its rules allow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/families/family.hpp"

namespace tilesmith {

/// How many combinations a rule removed. Each counts once: at the rule it breaks that reads the fewest of the first
/// parameters, and of several such at the first.
struct RuleCount {
  std::string rule;
  std::string reason;
  std::int64_t removed = 0;
};

struct Space {
  std::string family;
  std::vector<Parameter> parameters;
  std::vector<Config> configs;     ///< the legal ones, in odometer order (last parameter fastest)
  std::int64_t combinations = 0;   ///< before any rule
  std::vector<RuleCount> removed;  ///< one a rule; combinations = configs + sum of removed
};

/// Enumerates the space, on all cores: rules are asked on several threads at a time. Empty if the family does not
/// support the target.
Space enumerate_space(const Family& family, const KernelTarget& target);
/// The same of any parameters and rules.
Space enumerate_space(std::string name, std::vector<Parameter> parameters, const std::vector<Rule>& rules);

/// How many configs it would have, without the memory that they take.
std::int64_t count_legal(const Family& family, const KernelTarget& target);

}  // namespace tilesmith
