// Family `ffma`: f32 on CUDA cores, every product an FMA: register tiles, cp.async pipelines, sliced and split K.
#pragma once

#include <memory>

#include "kernels/families/family.hpp"

namespace tilesmith {

std::unique_ptr<Family> make_ffma();

}  // namespace tilesmith
