// Family `wmma`: tensor cores through nvcuda::wmma fragments, straight from global memory or staged in shared memory.
#pragma once

#include <memory>

#include "kernels/families/family.hpp"

namespace tilesmith {

std::unique_ptr<Family> make_wmma();

}  // namespace tilesmith
