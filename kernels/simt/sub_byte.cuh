// Operands of less than a byte (TILESMITH_SUB_BYTE): rows of whole bytes, the element of lower index in the lower bits. A row's last byte may
// hold more than the row: what lies there does not count.
#pragma once

namespace tilesmith {

constexpr int kOfByte = 8 / kOperandBits;
constexpr int kPack = kOperandBits == 1 ? 32 : 4;  // of a word: bits, or bytes that dp4a takes

// The byte that has elements [at, at + kOfByte) of a row, those beyond `size` 0. `at` is the first of a byte.
__device__ __forceinline__ unsigned byte_within(const Operand* row, int at, int size) {
  if (at >= size) return 0;
  const unsigned byte = static_cast<unsigned char>(row[at / kOfByte]);
  return size - at >= kOfByte ? byte : byte & ((1u << (size - at) * kOperandBits) - 1);
}

// The word of kPack elements of K from k on, a multiple of kPack, at x along M or N; the row stride ld is in bytes.
template <bool KOutermost>
__device__ __forceinline__ unsigned word_of(const Operand* matrix, long long ld, int k, int x, int size_k, int size_x) {
  if (x >= size_x) return 0;
  unsigned word = 0;  // packed as they are stored
  if constexpr (KOutermost) {
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      const Operand* row = matrix + (k + i) * ld;
      const unsigned byte = k + i < size_k ? static_cast<unsigned char>(row[x / kOfByte]) : 0;
      word |= (byte >> x % kOfByte * kOperandBits & ((1u << kOperandBits) - 1)) << i * kOperandBits;
    }
  } else {
#pragma unroll
    for (int i = 0; i < kPack / kOfByte; ++i) word |= byte_within(matrix + x * ld, k + i * kOfByte, size_k) << 8 * i;
  }
  if constexpr (kOperandBits == 1) return word;
  unsigned bytes = (word & 0xf) | (word & 0xf0) << 4 | (word & 0xf00) << 8 | (word & 0xf000) << 12;
  if (kOperandIsSigned) bytes |= (bytes & 0x08080808) * 0x1e;  // bit 3 in bits 4 to 7, too
  return bytes;
}

}  // namespace tilesmith
