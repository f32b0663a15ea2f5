// What the expressions of a kernel of one's own read, and where the values stand: sizes, then parameters, then what is
// known of the device (kernels/families/user/device_values.hpp).
#pragma once

#include <string>
#include <vector>

#include "kernels/families/user/expression.hpp"

namespace tilesmith::own {

/// Names of sizes and of parameters, in their order.
struct Names {
  std::vector<std::string> sizes, parameters;

  std::vector<ExpressionName> of_sizes() const;
  std::vector<ExpressionName> of_launches() const;  ///< sizes and parameters
  std::vector<ExpressionName> of_rules() const;     ///< and the device
};

/// Whether it is a name of the device's, which neither a size nor a parameter can have.
bool is_of_device(const std::string& name);

}  // namespace tilesmith::own
