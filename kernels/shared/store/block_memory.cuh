// What a block keeps in shared memory: the ring of stages; what the epilogue needs, behind it, or in its place where no
// copy is under way then; the ring's barriers. Host and device read this same file.
#pragma once

#include "kernels/shared/host_device.cuh"

namespace tilesmith {

// Row stride of sums in shared memory: 8 elements of padding put the rows that a warp writes together in different
// banks.
constexpr int kSumsPad = 8;
constexpr int kScratchRows = 8;

// Columns of a warp's tile that are staged at a time: of so many that are left, the largest power of two up to 64.
TILESMITH_HOST_DEVICE constexpr int staged_columns(int left) {
  return left >= 64 ? 64 : left >= 32 ? 32 : left >= 16 ? 16 : 8;
}

// Elements of a warp's scratch for staged stores of a tile of so many columns.
TILESMITH_HOST_DEVICE constexpr int scratch_elements(int columns) {
  return kScratchRows * (staged_columns(columns) + kSumsPad);
}

// Boxes of C that the tensor memory accelerator stores: rows of 128 bytes, by a warp.
constexpr int kBoxRows = 16, kBoxRowBytes = 128;
constexpr int kBoxBytes = kBoxRows * kBoxRowBytes;

// Elements of a whole tile's sums.
TILESMITH_HOST_DEVICE constexpr int summed_elements(int rows, int columns) { return rows * (columns + kSumsPad); }

// Two barriers a stage.
TILESMITH_HOST_DEVICE constexpr int barrier_bytes(int stages) { return 2 * 8 * stages; }

struct BlockMemory {
  int epilogue_at, barriers_at;  // bytes from the start
  int bytes;
};

// `keeps_ring`: copies are under way during the epilogue.
TILESMITH_HOST_DEVICE constexpr BlockMemory block_memory(int ring_bytes, int epilogue_bytes, int barrier_bytes,
                                                         bool keeps_ring) {
  const int both = keeps_ring ? ring_bytes + epilogue_bytes : ring_bytes > epilogue_bytes ? ring_bytes : epilogue_bytes;
  return {keeps_ring ? ring_bytes : 0, both, both + barrier_bytes};
}

}  // namespace tilesmith
