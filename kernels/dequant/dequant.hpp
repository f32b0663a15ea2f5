// The family `dequant`: products with weights of 4 or 8 bits on mma.sync.
#pragma once

#include <memory>

#include "kernels/families/family.hpp"

namespace tilesmith {

std::unique_ptr<Family> make_dequant();

}  // namespace tilesmith
