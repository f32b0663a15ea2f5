// How the blocks of sub_byte_copy.cuh share the work. Host and device read this same file.
#pragma once

#include "kernels/tensor_core/pass_layout.cuh"

namespace tilesmith {

// Of a tile that a block turns K-major: a row of the copy has kTurnedTileBytes, still packed, and there are so many rows.
TILESMITH_HOST_DEVICE constexpr int turned_rows(int element_bits) { return element_bits == 1 ? 256 : 128; }

}  // namespace tilesmith
