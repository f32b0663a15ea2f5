// The wgmma instruction of a config as device code: its operands are too many, and too different from size to size, to
// be written down for all.
#pragma once

#include <string>

#include "kernels/families/family.hpp"

namespace tilesmith::wgmma {

/// `multiply` as group_tile.cuh wants it.
std::string instruction_source(const Config& config, const KernelTarget& target);

}  // namespace tilesmith::wgmma
