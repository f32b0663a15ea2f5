#include "kernels/own/names.hpp"

#include <algorithm>

#include "kernels/families/user/device_values.hpp"

namespace tilesmith::own {
std::vector<ExpressionName> Names::of_sizes() const {
  std::vector<ExpressionName> names;
  for (const std::string& size : sizes) names.push_back({size, names.size()});
  return names;
}

std::vector<ExpressionName> Names::of_launches() const {
  std::vector<ExpressionName> names = of_sizes();
  for (const std::string& parameter : parameters) names.push_back({parameter, names.size()});
  return names;
}

std::vector<ExpressionName> Names::of_rules() const {
  std::vector<ExpressionName> names = of_launches();
  for (const std::string_view name : kDeviceNames) names.push_back({std::string(name), names.size()});
  return names;
}

bool is_of_device(const std::string& name) { return std::ranges::find(kDeviceNames, name) != kDeviceNames.end(); }

}  // namespace tilesmith::own
