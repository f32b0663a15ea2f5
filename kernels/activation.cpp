#include "kernels/activation.hpp"

namespace tilesmith {

std::string activation_names() {
  std::string names;
  for (const ActivationRow& row : kActivations) {
    if (row.value != Activation::identity) names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  return names;
}

}  // namespace tilesmith
