// The parameters of family `wgmma` and the rules that configs keep.
#pragma once

#include <vector>

#include "kernels/families/family.hpp"

namespace tilesmith::wgmma {

/// Operands that wgmma cannot take as they lie, which are packed K-major: the right one (with `swap` that is A) of 8 or
/// 32 bits where it lies MN-major.
int must_pack(const TypePair& type, Transposes trans, bool swap);

/// Whether a tile is for a C of no more columns than it has; few rows are the same to swapped operands.
bool has_few_columns(const Config& config);

bool supports(const KernelTarget& target);
std::vector<Parameter> parameters(const KernelTarget& target);
std::vector<Rule> rules(const KernelTarget& target);
/// Of kernels with a 2:4 sparse operand; none of others.
std::vector<Rule> sparse_rules(const KernelTarget& target);

}  // namespace tilesmith::wgmma
