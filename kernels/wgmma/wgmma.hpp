// Family `wgmma`: Hopper's tensor cores through PTX wgmma, fed by the tensor memory accelerator (sm_90a).
#pragma once

#include <memory>

#include "kernels/families/family.hpp"

namespace tilesmith {

std::unique_ptr<Family> make_wgmma();

}  // namespace tilesmith
