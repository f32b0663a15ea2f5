// The columns of a tile that an instruction takes. The host reads this file too.
//
// An instruction has up to 256. Of more the first of two takes whole panels of an operand that lies along them
// (stage.cuh), and both read the same rows of the left operand:
//
//   ← first_columns() →← the rest →
//   ┌──────────────────┬────────────┐
//   │ 64 × 192         │ 64 × 128   │   of 320
//   └──────────────────┴────────────┘
#pragma once

#include "kernels/shared/host_device.cuh"

namespace tilesmith {

constexpr int kMostColumns = 320, kMostInstructionColumns = 256;

TILESMITH_HOST_DEVICE constexpr int first_columns(int columns) {
  return columns <= kMostInstructionColumns ? columns : 192;
}

}  // namespace tilesmith
