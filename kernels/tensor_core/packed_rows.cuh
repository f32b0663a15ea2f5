// Where packed operands lie in the workspace. Host and device read this same file.
#pragma once

#ifdef __CUDACC__
#define TILESMITH_HOST_DEVICE __host__ __device__
#else
#define TILESMITH_HOST_DEVICE
#endif

namespace tilesmith {

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

}  // namespace tilesmith
