// Family `gemv`: problems with M = 1 or N = 1 at the speed of memory. One operand, the matrix, is read once and in
// 16-byte chunks whatever its alignment; the other, the vector, is kept in shared memory.
#pragma once

#include <memory>

#include "kernels/families/family.hpp"

namespace tilesmith {

std::unique_ptr<Family> make_gemv();

}  // namespace tilesmith
