// Operands of less than a byte (kOperandBits < 8): rows of whole bytes, the element of lower index in the lower bits. A
// row's last byte may hold more than the row, which is ignored.
#pragma once

namespace tilesmith {

constexpr int kOfByte = kOperandBits < 8 ? 8 / kOperandBits : 1;

// The byte that has elements [at, at + kOfByte) of a row, those beyond `size` 0. `at` is the first of a byte.
__device__ __forceinline__ unsigned byte_within(const Operand* row, int at, int size) {
  if (at >= size) return 0;
  const unsigned byte = static_cast<unsigned char>(row[at / kOfByte]);
  return size - at >= kOfByte ? byte : byte & ((1u << (size - at) * kOperandBits) - 1);
}

// kCount elements of K from k on, a multiple of kCount, at x along M or N, side by side; the row stride ld is in bytes.
template <bool KOutermost, int kCount>
__device__ __forceinline__ unsigned elements_of(
    const Operand* matrix, long long ld, int k, int x, int size_k, int size_x) {
  if (x >= size_x) return 0;
  unsigned word = 0;
  if constexpr (KOutermost) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const Operand* row = matrix + (k + i) * ld;
      const unsigned byte = k + i < size_k ? static_cast<unsigned char>(row[x / kOfByte]) : 0;
      word |= (byte >> x % kOfByte * kOperandBits & ((1u << kOperandBits) - 1)) << i * kOperandBits;
    }
  } else {
#pragma unroll
    for (int i = 0; i < kCount / kOfByte; ++i) word |= byte_within(matrix + x * ld, k + i * kOfByte, size_k) << 8 * i;
  }
  return word;
}

}  // namespace tilesmith
