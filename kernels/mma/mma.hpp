// Family `mma`: PTX mma.sync, ldmatrix and cp.async; the picture is in mma.cu.
#pragma once

#include <memory>

#include "kernels/families/family.hpp"

namespace tilesmith {

std::unique_ptr<Family> make_mma();

}  // namespace tilesmith
