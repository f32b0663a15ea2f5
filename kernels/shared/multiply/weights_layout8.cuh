// The canonical layout of weights of 4 bits that are multiplied with elements of A of 8 bits. Host and device read this
// same file.
//
// Blocks, and codes, are those of weights_layout.cuh: 16 rows × 64 columns in 512 bytes. Lane l of a warp has the 16
// bytes at 16·l, which are what it multiplies as the left operand of mma m16n8k32, 32 columns a step. With g = l / 4,
// t = l % 4, and c = 64j + 32s the first column of step s (0 or 1), of its four 32-bit words
//
//   word 2s       nibbles 0 to 3: row g, columns c + 4t to c + 4t + 3;         nibbles 4 to 7: row g + 8, the same
//   word 2s + 1   nibbles 0 to 3: row g, columns c + 4t + 16 to c + 4t + 19;   nibbles 4 to 7: row g + 8, the same
#pragma once

#include "kernels/shared/multiply/weights_layout.cuh"

namespace tilesmith {

constexpr int kByteStepColumns = 32;  // of a step of an instruction

TILESMITH_HOST_DEVICE constexpr CodePlace code_place8(long long n, long long k, long long size_k) {
  const int columns = code_block_columns(4);
  const long long block = n / kCodeBlockRows * ((size_k + columns - 1) / columns) + k / columns;
  const int row = int(n % kCodeBlockRows), column = int(k % columns), of_half = column % 16;
  const int lane = row % 8 * 4 + of_half / 4, word = column / 16, nibble = of_half % 4 + row / 8 * 4;
  return {block * kCodeBlockBytes + lane * 16 + word * 4 + nibble / 2, nibble % 2 * 4};
}

// The inverse of code_place8().
TILESMITH_HOST_DEVICE constexpr CodeAt code_at8(long long byte, int shift, long long size_k) {
  const int columns = code_block_columns(4);
  const long long blocks_of_row = (size_k + columns - 1) / columns, block = byte / kCodeBlockBytes;
  const int in_block = int(byte % kCodeBlockBytes), lane = in_block / 16, word = in_block % 16 / 4;
  const int nibble = in_block % 4 * 2 + shift / 4;
  return {block / blocks_of_row * kCodeBlockRows + lane / 4 + nibble / 4 * 8,
          block % blocks_of_row * columns + word * 16 + lane % 4 * 4 + nibble % 4};
}

}  // namespace tilesmith
