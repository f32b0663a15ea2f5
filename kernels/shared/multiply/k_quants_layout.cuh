// How kernels read weights of GGUF's K-quants, in f32. Host and device read this same file.
//
// Q4_K: w = (d · s) · code − dmin · m
//   codes    as those of u4 (weights_layout.cuh): numbers of 0 to 15
//   scales   [K / 32][n]    a pair of bytes: s, then m, of 6 bits each
//   zeros    [K / 256][n]   a pair of f16: d, then dmin
//
// Q6_K: w = (d · s) · (code − 32)
//   codes    numbers of 0 to 63, in blocks of 768 bytes: the lower four bits, in 512 bytes, as codes of 4 bits lie in their
//            block; then the upper two, 8 bytes a lane. Rows are padded with the code of 0, which is 32.
//   scales   [K / 64][n]    four signed bytes: s of 16 columns each
//   zeros    [K / 256][n]   an f16: d
//
// A lane's upper bits are those of the 32 codes whose lower ones it has in its 16 bytes. Those of step s, of half hi of
// pair i (weights_layout.cuh) are bits 16·hi + 8·(s % 2) + 4·(i % 2) + 2·(i / 2) and the next of 32-bit word s / 2. A
// shift brings those of pairs 2j and 2j + 1 where their lower bits leave room for them.
#pragma once

#include "kernels/shared/multiply/weights_layout.cuh"

namespace tilesmith {

constexpr int kSuperColumns = 256;
constexpr int kUpperBlockBytes = 256, kSixBitBlockBytes = kCodeBlockBytes + kUpperBlockBytes;

struct SuperFactors {
  unsigned short d, dmin;  // bits of f16
};

// As code_bytes(), of codes of 6 bits too.
TILESMITH_HOST_DEVICE constexpr long long all_code_bytes(int bits, long long n, long long k) {
  return bits == 6 ? code_bytes(4, n, k) / kCodeBlockBytes * kSixBitBlockBytes : code_bytes(bits, n, k);
}

// Where the parts of a code of 6 bits lie.
struct SixBitPlace {
  CodePlace lower, upper;
};
TILESMITH_HOST_DEVICE constexpr SixBitPlace six_bit_place(long long n, long long k, long long size_k) {
  const CodePlace nibble = code_place(4, n, k, size_k);
  const long long block = nibble.byte / kCodeBlockBytes;
  const int in_block = int(nibble.byte % kCodeBlockBytes), lane = in_block / 16, step = in_block % 16 / 4;
  const int bit = in_block % 4 / 2 * 16 + step % 2 * 8 + nibble.shift + in_block % 2 * 2;
  return {{block * kSixBitBlockBytes + in_block, nibble.shift},
      {block * kSixBitBlockBytes + kCodeBlockBytes + lane * 8 + step / 2 * 4 + bit / 8, bit % 8}};
}

// A byte of upper bits, by its place in the block, has those of four codes. This gives the row and column of the code whose
// bits are [shift, shift + 2).
TILESMITH_HOST_DEVICE constexpr CodeAt upper_bits_at(long long block, int in_block, int shift, long long size_k) {
  const int of_lane = (in_block - kCodeBlockBytes) % 8, lane = (in_block - kCodeBlockBytes) / 8;
  const int step = of_lane / 4 * 2 + of_lane % 2, hi = of_lane % 4 / 2;
  return code_at(4, block * kCodeBlockBytes + lane * 16 + step * 4 + hi * 2 + shift / 2 % 2, shift / 4 * 4, size_k);
}

}  // namespace tilesmith
