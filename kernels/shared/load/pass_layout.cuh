// The passes beside the GEMM: how their blocks share the work, and where packed operands and partial sums lie in the
// workspace. Host and device read this same file.
#pragma once

#include "kernels/shared/host_device.cuh"

namespace tilesmith {

constexpr int kPassThreads = 128;  // of a block that adds slices or scales C
constexpr int kPackThreads = 256;  // of a block that packs
constexpr int kPackChunks = 2;     // that each of them copies
constexpr int kPackedChunkBytes = 16;
constexpr int kTurnedTileBytes = 128;  // of a row, and of a column, that a block turns K-major

// Packed rows start at these steps: a cp.async of 16 bytes fits, and a row begins at a line of the L2.
constexpr int kPackedRowAlignBytes = 128;

// Row stride, in elements, of an operand whose packed rows hold `cols` elements.
TILESMITH_HOST_DEVICE constexpr long long packed_row_stride(long long cols, int element_bytes) {
  const long long step = kPackedRowAlignBytes / element_bytes;
  return (cols + step - 1) / step * step;
}

TILESMITH_HOST_DEVICE constexpr long long packed_bytes(long long rows, long long cols, int element_bytes) {
  return rows * packed_row_stride(cols, element_bytes) * element_bytes;
}

// Threads that share a run of sums where many slices are added, each taking as many slices.
TILESMITH_HOST_DEVICE constexpr int sum_groups(int slices) { return slices >= 8 && slices % 4 == 0 ? 4 : 1; }
constexpr int kSumColumns = 4;  // of a run

// Row stride of a slice's partial sums, elements: rows start at 16-byte steps. The slices lie one after the other.
TILESMITH_HOST_DEVICE constexpr long long partial_stride(long long n) { return (n + 7) / 8 * 8; }

}  // namespace tilesmith
