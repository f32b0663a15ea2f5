// The canonical layout of weights in 4 or 8 bits, which kernels read and tilesmith_weights_repack()
// (runtime/interface/tilesmith_weights.h) writes. Host and device read this same file.
//
// W is [N][K], as B of transposes NT: row n, column k. Codes lie in blocks of 512 bytes, of 16 rows × 64 columns (4
// bits) or 16 rows × 32 columns (8 bits). Block (i, j) has rows 16i.. and columns 64j.. (32j..); it begins at byte
// 512·(i·⌈K/64⌉ + j) (⌈K/32⌉). Rows are padded to 16, columns to 64 (32), with the code of value 0.
//
//   code   s4: value + 8;  u4: value;  s8: value + 128;  e4m3, e2m1: its bits;  nf4: its place in the table (shared/multiply/codebook.cuh)
//
// In a block lane l of a warp has the 16 bytes at 16·l, which are what it multiplies as the left operand of mma
// m16n8k16, 16 columns a step. With g = l / 4, t = l % 4, and c the step's first column, a pair (lo, hi) each:
//
//   a0: row g,     columns c + 2t, c + 2t + 1.         a2: row g,     columns c + 2t + 8, c + 2t + 9.
//   a1: row g + 8, columns c + 2t, c + 2t + 1.         a3: row g + 8, columns c + 2t + 8, c + 2t + 9.
//
//   4 bits: of four 32-bit words, word s is step s (c = 64j + 16s). Its nibble i (bits 4i to 4i + 3) is a_i.lo, nibble
//   i + 4 is a_i.hi. 8 bits: words 2s and 2s + 1 are step s (c = 32j + 16s). Word 2s has the bytes a0.lo, a0.hi, a1.lo,
//   a1.hi; word 2s + 1 those of a2, a3.
#pragma once

#include "kernels/shared/host_device.cuh"

namespace tilesmith {

constexpr int kCodeBlockBytes = 512, kCodeBlockRows = 16;

// Columns of a block.
TILESMITH_HOST_DEVICE constexpr int code_block_columns(int bits) { return bits == 4 ? 64 : 32; }

// Bytes of all codes of so many rows and columns.
TILESMITH_HOST_DEVICE constexpr long long code_bytes(int bits, long long n, long long k) {
  const int columns = code_block_columns(bits);
  return (n + kCodeBlockRows - 1) / kCodeBlockRows * ((k + columns - 1) / columns) * kCodeBlockBytes;
}

// Where a code lies: its byte, and its lowest bit within it.
struct CodePlace {
  long long byte;
  int shift;
};

TILESMITH_HOST_DEVICE constexpr CodePlace code_place(int bits, long long n, long long k, long long size_k) {
  const int columns = code_block_columns(bits);
  const long long block = n / kCodeBlockRows * ((size_k + columns - 1) / columns) + k / columns;
  const int row = int(n % kCodeBlockRows), column = int(k % columns), step = column / 16, of_step = column % 16;
  const int lane = row % 8 * 4 + of_step % 8 / 2, pair = of_step / 8 * 2 + row / 8, hi = of_step % 2;
  const long long lanes_bytes = block * kCodeBlockBytes + lane * 16;
  if (bits == 4) return {lanes_bytes + step * 4 + hi * 2 + pair / 2, pair % 2 * 4};
  return {lanes_bytes + step * 8 + pair * 2 + hi, 0};
}

// Of a byte of the canonical layout: row and column of its code in bits [shift, shift + bits). The inverse of
// code_place().
struct CodeAt {
  long long n, k;
};
TILESMITH_HOST_DEVICE constexpr CodeAt code_at(int bits, long long byte, int shift, long long size_k) {
  const int columns = code_block_columns(bits);
  const long long blocks_of_row = (size_k + columns - 1) / columns, block = byte / kCodeBlockBytes;
  const int in_block = int(byte % kCodeBlockBytes), lane = in_block / 16, of_lane = in_block % 16;
  const int step = bits == 4 ? of_lane / 4 : of_lane / 8;
  const int hi = bits == 4 ? of_lane % 4 / 2 : of_lane % 2;
  const int pair = bits == 4 ? of_lane % 2 * 2 + shift / 4 : of_lane % 8 / 2;
  return {block / blocks_of_row * kCodeBlockRows + lane / 4 + pair % 2 * 8,
          block % blocks_of_row * columns + step * 16 + pair / 2 * 8 + lane % 4 * 2 + hi};
}

}  // namespace tilesmith
