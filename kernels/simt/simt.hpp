// Family `simt`: plain FMA and dp4a on CUDA cores. Correct for every type pair, layout, leading dimension and alignment
// on any sm_80+ device: the generic level of the runtime, and a baseline.
#pragma once

#include <memory>

#include "kernels/families/family.hpp"

namespace tilesmith {

std::unique_ptr<Family> make_simt();

/// A legal config that refuses no problem.
Config simt_generic_config(const KernelTarget& target);

}  // namespace tilesmith
