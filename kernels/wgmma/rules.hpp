// The parameters of family `wgmma` and the rules that configs keep.
#pragma once

#include <vector>

#include "kernels/family.hpp"

namespace tilesmith::wgmma {

/// Operands that wgmma cannot take as they lie: 8-bit and 32-bit ones that lie MN-major are packed K-major, words rounded to
/// tf32.
int must_pack(const TypePair& type, Transposes trans);

bool supports(const KernelTarget& target);
std::vector<Parameter> parameters(const KernelTarget& target);
std::vector<Rule> rules(const KernelTarget& target);

}  // namespace tilesmith::wgmma
