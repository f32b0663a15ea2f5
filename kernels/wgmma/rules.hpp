// The parameters of family `wgmma` and the rules that configs keep.
#pragma once

#include <vector>

#include "kernels/family.hpp"

namespace tilesmith::wgmma {

/// Operands that wgmma cannot take as they lie, which are packed K-major: those of 8 bits that lie MN-major, and the right one
/// (with `swap` that is A) of 32 bits.
int must_pack(const TypePair& type, Transposes trans, bool swap);

bool supports(const KernelTarget& target);
std::vector<Parameter> parameters(const KernelTarget& target);
std::vector<Rule> rules(const KernelTarget& target);

}  // namespace tilesmith::wgmma
