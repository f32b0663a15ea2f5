#include "kernels/families/shared_rules.hpp"
#include "kernels/wgmma/wgmma.hpp"

namespace tilesmith::wgmma {

std::vector<Rule> sparse_rules(const KernelTarget& target) {
  if (target.sparsity == Sparsity::dense) return {};
  const bool of_b = target.sparsity == Sparsity::b;
  return {
      {"the sparse operand",
          "it is the instruction's left one: where B is, operands are swapped. It is read as it lies, with metadata that are made for it",
          [of_b](
              const Config& c) { return c.at("swap") == int(of_b) && (c.at("pack") & (of_b ? pack_b : pack_a)) == 0; },
          {"swap", "pack"}},
      {"groups of a sparse operand", "they do not go apart", [](const Config& c) { return c.at("stagger") == 0; },
          {"stagger"}},
      {"stores of a sparse B",
          "swapped sums are stored straight, or by the accelerator: of one tile a block, of more than 64 rows in no multiple of 64",
          [of_b](const Config& c) {
            if (!of_b || c.at("store_staged") == 0) return true;
            return c.at("store_tma") == 1 && c.at("schedule") == one_tile && c.at("block_m") > 64 &&
                   c.at("block_m") % 64 != 0;
          },
          {"block_m", "schedule", "store_staged", "store_tma"}},
  };
}

}  // namespace tilesmith::wgmma
