// From codes of weights of 4 bits (kernels/shared/multiply/weights_layout8.cuh) to bytes of A's type, exact: four at a
// time from a table of 16 bytes in registers, in which prmt looks up eight. 11 instructions for 8 codes.
//
//            e4m3                                                            s8
//   s4, u4   the difference of code and zero, from −15 to 15, in units       that difference
//            of 2^-9: up to 15 an e4m3's bits are the magnitude itself
//   e2m1     its value                                                       twice its value
#pragma once

#include "kernels/shared/multiply/codebook_pairs.cuh"

namespace tilesmith {

// The unit of the bytes: a weight without its scale is its byte times this.
constexpr float kByteUnits = kWeightIsE2m1 ? (kOperandIsSigned ? 0.5F : 1.0F) : (kOperandIsSigned ? 1.0F : 512.0F);

// The byte of a code where so much is taken off integers.
constexpr unsigned byte_of_code(int code, int zero) {
  const int ends = code & 7;  // of an e2m1
  if (kWeightIsE2m1 && !kOperandIsSigned)
    return unsigned(code & 8) << 4 | (ends == 0 ? 0u : ends == 1 ? 0x30u : 0x38u + unsigned(ends - 2) * 4);
  const int doubled = ends < 4 ? ends : ends == 4 ? 4 : ends == 5 ? 6 : ends == 6 ? 8 : 12;
  const int value = !kWeightIsE2m1 ? code - zero : (code & 8) != 0 ? -doubled : doubled;
  if (kOperandIsSigned) return unsigned(value) & 255u;
  return value < 0 ? 0x80u | unsigned(-value) : unsigned(value);
}

struct ByteTable {
  unsigned words[4];  // of codes 0 to 3, 4 to 7, ..., the first one's byte lowest
};
constexpr ByteTable byte_table(int zero) {
  ByteTable table{};
  for (int code = 0; code < 16; ++code) table.words[code / 4] |= byte_of_code(code, zero) << code % 4 * 8;
  return table;
}

struct alignas(16) ByteTables {
  ByteTable of_zero[16];
};
constexpr ByteTables byte_tables() {
  ByteTables tables{};
  for (int zero = 0; zero < 16; ++zero) tables.of_zero[zero] = byte_table(zero);
  return tables;
}
__device__ const ByteTables kByteTables = byte_tables();

// The table of a row whose zero is `zero`, a whole number for which there are codes; else the nearest. Read where it
// stands: the tables of several groups would fill the registers.
__device__ __forceinline__ ByteTable table_of_zero(float zero) {
  const int taken = min(max(__float2int_rn(zero) + kWeightOffset, 0), 15);
  ByteTable table;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(table.words[0]), "=r"(table.words[1]), "=r"(table.words[2]), "=r"(table.words[3])
               : "l"(&kByteTables.of_zero[taken]));
  return table;
}

// The bytes of a word's codes, the lower four by one table and the upper four by another.
__device__ __forceinline__ void bytes_of_codes(
    unsigned& lower, unsigned& upper, unsigned codes, const ByteTable& of_lower, const ByteTable& of_upper) {
  const unsigned places = codes & 0x77777777u, lifted = codes << 4;
  const auto look_up = [](const ByteTable& table, unsigned at, unsigned is_high) {
    unsigned low, high;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(low) : "r"(table.words[0]), "r"(table.words[1]), "r"(at));
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(high) : "r"(table.words[2]), "r"(table.words[3]), "r"(at));
    return chosen(low, high, is_high);
  };
  // The highest bit of each nibble, in all bits of a byte.
  lower = look_up(of_lower, places, bytes_of<0xd9c8>(lifted, codes));
  upper = look_up(of_upper, places >> 16, bytes_of<0xfbea>(lifted, codes));
}

}  // namespace tilesmith
