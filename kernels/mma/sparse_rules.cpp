#include "kernels/mma/geometry.hpp"
#include "kernels/mma/rules.hpp"

namespace tilesmith::mma {

std::vector<Rule> sparse_rules(const KernelTarget& target) {
  if (target.sparsity == Sparsity::dense) return {};
  const int of_sparse = target.sparsity == Sparsity::b ? pack_b : pack_a;
  return {
      {"packing of a sparse operand", "its rows are read as they lie, with metadata that are made for them",
       [of_sparse](const Config& c) { return (c.at("pack") & of_sparse) == 0; }, {"pack"}},
      {"copies beside metadata", "these are copied by cp.async, and so are operands: 4 bytes at least",
       [](const Config& c) { return c.at("copy_bytes") >= 4; }, {"copy_bytes"}},
  };
}

}  // namespace tilesmith::mma
