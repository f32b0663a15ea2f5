// Weights as others store them, code by code, for a canonical layout (kernels/shared/multiply/weights_layout8.cuh, if
// RepackArgs::for_bytes is set, else weights_layout.cuh).
// Host and device read this same file: repack.cu runs it on the device, runtime/interface/weights_repack.cpp on the
// host.
#pragma once

#include "kernels/shared/multiply/k_quants_layout.cuh"
#include "kernels/shared/multiply/weights_layout8.cuh"

namespace tilesmith {

// How codes lie that are repacked. [rows][columns] row-major.
//   bytes     [N][K], one a byte
//   nibbles   [N][K / 2], the lower column in the lower four bits
//   gptq      32-bit words [K / 8][N] (of 8 bits [K / 4][N]), the lower row of K in the lower bits; zeros [groups][N / 8] ([N / 4])
//   awq       32-bit words [K][N / 8], from the lowest four bits columns 0 2 4 6 1 3 5 7; zeros [groups][N / 8] alike
//   q4_0      [N][K / 32] blocks of 18 bytes: a scale of f16, then 16 bytes, of which byte j has column j low and j + 16 high
//   q8_0      [N][K / 32] blocks of 34 bytes: a scale of f16, then 32 signed bytes
//   mxfp4     [N][K / 2] floats of 4 bits (e2m1), the lower column low; they become e4m3 (to stay e2m1 they are nibbles)
//   upper     [N][K / 2], the lower column in the upper four bits
//   q4_k      [N][K / 256] blocks of 144 bytes: d and dmin of f16, 12 bytes of scales and minima, then 4 runs of 32
//             bytes. Byte j of run r has column 64r + j low and 64r + 32 + j high. They become those of k_quants_layout.cuh
//   q6_k      [N][K / 256] blocks of 210 bytes: 128 bytes of lower four bits, 64 of upper two, 16 signed scales, and d of
//             f16. Column 128h + 32r + j has its lower bits in byte 64h + 32 · (r % 2) + j, low if r is 0 or 1, and its
//             upper ones in bits 2r and 2r + 1 of byte 32h + j. They become those of k_quants_layout.cuh
enum WeightSource {
  kBytesSource,
  kNibblesSource,
  kGptqSource,
  kAwqSource,
  kQ4Source,
  kQ8Source,
  kMxfp4Source,
  kUpperFirstSource,
  kQ4KSource,
  kQ6KSource
};
// Of scales and zeros. kPackedElement: zeros as codes, packed along N as gptq and awq have them. kExponentElement: a
// power of two (ue8m0).
enum WeightElement {
  kNoElement,
  kF16Element,
  kBf16Element,
  kF32Element,
  kS8Element,
  kU8Element,
  kS32Element,
  kPackedElement,
  kExponentElement
};

struct RepackArgs {
  const unsigned char* codes;
  const unsigned char* scales;  // null of blocks, which have them
  const unsigned char* zeros;   // null: none
  const int* group_of;          // [K], null: not given
  unsigned char* to_codes;
  unsigned char* to_scales;  // [groups][N], row-major
  unsigned char* to_zeros;   // the same
  int* fault;  // of a check: 1 + the first column, or element of zeros or scales, that is refused; INT_MAX: none
  long long n;
  long long k;
  long long group;   // columns of a group: K of the whole column
  long long groups;  // ceil(K / group)
  int bits;
  int for_bytes;       // not 0: for elements of A of 8 bits
  int source;
  int flipped;         // bits of a code that are turned over: 8 or 128 of signed ones
  int padding;         // the code of value 0
  int scale_element;
  int zero_element;
  int to_element;      // of both
  int by_rows;         // not 0: scales and zeros come as [N][groups]
  int zero_added;      // to a zero as it is stored; where none are kept (to_zeros is null) each is then 0
};

TILESMITH_HOST_DEVICE inline unsigned bits_of_f32(float value) {
  union {
    float f;
    unsigned u;
  } both;
  both.f = value;
  return both.u;
}
TILESMITH_HOST_DEVICE inline float f32_of_bits(unsigned bits) {
  union {
    unsigned u;
    float f;
  } both;
  both.u = bits;
  return both.f;
}

TILESMITH_HOST_DEVICE inline float f32_of_f16(unsigned bits) {
  const unsigned sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31u, fraction = bits & 1023u;
  if (exponent == 0) return f32_of_bits(sign | bits_of_f32(float(fraction) * 5.9604644775390625e-8F));  // 2^−24
  return f32_of_bits(sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | fraction << 13);
}

// To nearest, ties to even.
TILESMITH_HOST_DEVICE inline unsigned f16_of_f32(float value) {
  const unsigned bits = bits_of_f32(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;
  if (magnitude < 0x38800000u) {  // Subnormal: the sum's last bit is worth 2^−24.
    return sign | (bits_of_f32(f32_of_bits(magnitude) + 0.5F) - bits_of_f32(0.5F));
  }
  return sign | (magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13;
}
TILESMITH_HOST_DEVICE inline unsigned bf16_of_f32(float value) {
  const unsigned bits = bits_of_f32(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return bits >> 16 | 0x40u;
  return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

// Of 32-bit words in memory that need not be aligned to them.
TILESMITH_HOST_DEVICE inline unsigned u16_at(const unsigned char* at) { return at[0] | unsigned(at[1]) << 8; }
TILESMITH_HOST_DEVICE inline unsigned u32_at(const unsigned char* at) { return u16_at(at) | u16_at(at + 2) << 16; }

// Where of eight columns AWQ puts one in a word.
TILESMITH_HOST_DEVICE constexpr int awq_nibble(int column) { return column / 2 + column % 2 * 4; }

// A zero that is packed along N.
TILESMITH_HOST_DEVICE inline int packed_zero(const RepackArgs& args, long long group, long long n) {
  const int in_word = 32 / args.bits, column = int(n % in_word);
  const unsigned word = u32_at(args.zeros + (group * ((args.n + in_word - 1) / in_word) + n / in_word) * 4);
  const int nibble = args.source == kAwqSource ? awq_nibble(column) : column;
  return int(word >> nibble * args.bits & ((1u << args.bits) - 1));
}

TILESMITH_HOST_DEVICE inline float element_at(const unsigned char* from, int element, long long index) {
  switch (element) {
    case kF16Element: return f32_of_f16(u16_at(from + 2 * index));
    case kBf16Element: return f32_of_bits(u16_at(from + 2 * index) << 16);
    case kF32Element: return f32_of_bits(u32_at(from + 4 * index));
    case kS8Element: return float(static_cast<signed char>(from[index]));
    case kU8Element: return float(from[index]);
    case kS32Element: return float(int(u32_at(from + 4 * index)));
    case kExponentElement:
      return f32_of_bits(from[index] == 0 ? 0x400000u : from[index] == 255 ? 0x7fc00000u : unsigned(from[index]) << 23);
    default: return 0;
  }
}

TILESMITH_HOST_DEVICE inline void put_element(unsigned char* to, int element, long long index, float value) {
  const unsigned bits = element == kF16Element    ? f16_of_f32(value)
                        : element == kBf16Element ? bf16_of_f32(value)
                                                  : bits_of_f32(value);
  unsigned char* const at = to + index * (element == kF32Element ? 4 : 2);
  at[0] = static_cast<unsigned char>(bits);
  at[1] = static_cast<unsigned char>(bits >> 8);
  if (element != kF32Element) return;
  at[2] = static_cast<unsigned char>(bits >> 16);
  at[3] = static_cast<unsigned char>(bits >> 24);
}

// The e4m3 of an e2m1: ±0, 0.5, 1, 1.5, 2, 3, 4 or 6.
TILESMITH_HOST_DEVICE constexpr unsigned e4m3_of_e2m1(unsigned code) {
  const unsigned magnitude = code & 7u;
  return (code & 8u) << 4 | (magnitude == 0 ? 0 : magnitude == 1 ? 0x30u : 0x38u + (magnitude - 2) * 4);
}

// Of q4_k and q6_k: bytes of a block, and where its factors are.
TILESMITH_HOST_DEVICE constexpr int super_block_bytes(int source) { return source == kQ4KSource ? 144 : 210; }
TILESMITH_HOST_DEVICE constexpr int super_factors_at(int source) { return source == kQ4KSource ? 0 : 208; }
TILESMITH_HOST_DEVICE constexpr int super_factors_bytes(int source) { return source == kQ4KSource ? 4 : 2; }
TILESMITH_HOST_DEVICE inline const unsigned char* super_block(const RepackArgs& args, long long n, long long block) {
  return args.codes + (n * (args.k / kSuperColumns) + block) * super_block_bytes(args.source);
}
// The scale of a block's group (0 to 7) in the lower byte, its minimum in the upper one. Of the 12 bytes four have scales
// 0 to 3 in their lower six bits, and four minima 0 to 3. The last four have scales (low) and minima (high) 4 to 7, but
// for their upper two bits, which are the upper ones of the first eight bytes.
TILESMITH_HOST_DEVICE inline unsigned q4k_scales(const unsigned char* block, int group) {
  const unsigned char* const packed = block + 4 + group % 4;
  const unsigned scale = packed[0], minimum = packed[4], both = packed[8];
  if (group < 4) return (scale & 63u) | (minimum & 63u) << 8;
  return (both & 15u) | scale >> 6 << 4 | ((both >> 4) | minimum >> 6 << 4) << 8;
}

// The code of a row and a column that there are.
TILESMITH_HOST_DEVICE inline unsigned source_code(const RepackArgs& args, long long n, long long k) {
  const unsigned mask = (1u << args.bits) - 1;
  unsigned code = 0;
  switch (args.source) {
    case kBytesSource:
      code = args.codes[n * args.k + k];
      break;
    case kNibblesSource:
      code = args.codes[n * ((args.k + 1) / 2) + k / 2] >> int(k % 2) * 4;
      break;
    case kGptqSource: {
      const int in_word = 32 / args.bits;
      code = u32_at(args.codes + (k / in_word * args.n + n) * 4) >> int(k % in_word) * args.bits;
      break;
    }
    case kAwqSource:
      code = u32_at(args.codes + (k * (args.n / 8) + n / 8) * 4) >> awq_nibble(int(n % 8)) * 4;
      break;
    case kQ4Source: {
      const int column = int(k % 32);
      code = args.codes[(n * (args.k / 32) + k / 32) * 18 + 2 + column % 16] >> column / 16 * 4;
      break;
    }
    case kQ8Source:
      code = args.codes[(n * (args.k / 32) + k / 32) * 34 + 2 + k % 32];
      break;
    case kQ4KSource: {
      const int column = int(k % kSuperColumns);
      code = super_block(args, n, k / kSuperColumns)[16 + column / 64 * 32 + column % 32] >> column / 32 % 2 * 4;
      break;
    }
    case kQ6KSource: {
      const unsigned char* const block = super_block(args, n, k / kSuperColumns);
      const int half = int(k % kSuperColumns) / 128, run = int(k % 128) / 32, column = int(k % 32);
      code = (block[64 * half + 32 * (run % 2) + column] >> run / 2 * 4 & 15u) |
             (block[128 + 32 * half + column] >> 2 * run & 3u) << 4;
      break;
    }
    case kUpperFirstSource:
      code = args.codes[n * (args.k / 2) + k / 2] >> (4 - int(k % 2) * 4);
      break;
    case kMxfp4Source:
      code = e4m3_of_e2m1(args.codes[n * (args.k / 2) + k / 2] >> int(k % 2) * 4 & 15u);
      break;
  }
  return (code ^ unsigned(args.flipped)) & mask;
}

TILESMITH_HOST_DEVICE inline unsigned code_or_padding(const RepackArgs& args, const CodeAt& at) {
  return at.n < args.n && at.k < args.k ? source_code(args, at.n, at.k) : unsigned(args.padding);
}

// A byte of the canonical layout.
TILESMITH_HOST_DEVICE inline unsigned char canonical_byte(const RepackArgs& args, long long byte) {
  unsigned result = 0;
  const long long block = byte / kSixBitBlockBytes;
  const int in_block = int(byte % kSixBitBlockBytes);
  for (int shift = 0; args.bits == 6 && shift < 8; shift += in_block < kCodeBlockBytes ? 4 : 2) {
    result |= in_block < kCodeBlockBytes
                  ? (code_or_padding(args, code_at(4, block * kCodeBlockBytes + in_block, shift, args.k)) & 15u) << shift
                  : code_or_padding(args, upper_bits_at(block, in_block, shift, args.k)) >> 4 << shift;
  }
  if (args.bits == 6) return static_cast<unsigned char>(result);
  for (int shift = 0; shift < 8; shift += args.bits) {
    const CodeAt at = args.for_bytes != 0 ? code_at8(byte, shift, args.k) : code_at(args.bits, byte, shift, args.k);
    result |= code_or_padding(args, at) << shift;
  }
  return static_cast<unsigned char>(result);
}

// Scale and zero at `index` of [groups][N].
TILESMITH_HOST_DEVICE inline void put_scale_and_zero(const RepackArgs& args, long long index) {
  const long long group = index / args.n, n = index % args.n;
  if (args.source == kQ4KSource || args.source == kQ6KSource) {
    const long long groups_of_block = kSuperColumns / args.group, in_block = group % groups_of_block;
    const unsigned char* const block = super_block(args, n, group / groups_of_block);
    if (args.source == kQ4KSource) {
      const unsigned scales = q4k_scales(block, int(in_block));
      args.to_scales[2 * index] = static_cast<unsigned char>(scales);
      args.to_scales[2 * index + 1] = static_cast<unsigned char>(scales >> 8);
    } else {
      args.to_scales[(group / 4 * args.n + n) * 4 + group % 4] = block[192 + in_block];
    }
    const int bytes = super_factors_bytes(args.source);
    for (int byte = 0; byte < bytes && in_block == 0; ++byte)
      args.to_zeros[bytes * (group / groups_of_block * args.n + n) + byte] = block[super_factors_at(args.source) + byte];
    return;
  }
  const long long from = args.by_rows ? n * args.groups + group : index;
  float scale;
  if (args.source == kQ4Source || args.source == kQ8Source) {
    scale = f32_of_f16(u16_at(args.codes + (n * args.groups + group) * (args.source == kQ4Source ? 18 : 34)));
  } else {
    scale = element_at(args.scales, args.scale_element, from);
  }
  put_element(args.to_scales, args.to_element, index, scale);
  if (args.zeros == nullptr || args.to_zeros == nullptr) return;
  const float zero = args.zero_element == kPackedElement ? float(packed_zero(args, group, n))
                                                         : element_at(args.zeros, args.zero_element, from);
  put_element(args.to_zeros, args.to_element, index, zero + float(args.zero_added));
}

// Whether a zero at `index` of [groups][N], as it comes, is one that there is a code for: for elements of A of 8 bits.
TILESMITH_HOST_DEVICE inline bool has_code_of_zero(const RepackArgs& args, long long index) {
  const float code = element_at(args.zeros, args.zero_element, index) + float(args.padding);
  return code >= 0 && code <= 15 && code == float(int(code));
}

// Whether a column is in its own group; whether a zero at `index` of [groups][N] is what all must be.
TILESMITH_HOST_DEVICE inline bool is_in_order(const RepackArgs& args, long long k) {
  return args.group_of[k] == k / args.group;
}
TILESMITH_HOST_DEVICE inline bool is_expected_zero(const RepackArgs& args, long long index) {
  return packed_zero(args, index / args.n, index % args.n) + args.zero_added == 0;
}
// Whether the factors of a block of q4_k or q6_k, by its place, are numbers.
TILESMITH_HOST_DEVICE inline bool has_finite_factors(const RepackArgs& args, long long block) {
  const unsigned char* const factors = super_block(args, 0, block) + super_factors_at(args.source);
  return (u16_at(factors) & 0x7c00u) != 0x7c00u &&
         (args.source == kQ6KSource || (u16_at(factors + 2) & 0x7c00u) != 0x7c00u);
}
// Whether f16 holds a scale at `index` of the scales as they come: a power of two 2^(e − 127), NaN of 255; or a number
// that does not become infinite.
TILESMITH_HOST_DEVICE inline bool is_held_by_f16(const RepackArgs& args, long long index) {
  if (args.scale_element == kExponentElement) {
    const int exponent = args.scales[index];
    return exponent == 255 || (exponent >= 127 - 24 && exponent <= 127 + 15);
  }
  const float scale = element_at(args.scales, args.scale_element, index);
  const bool was_infinite = (bits_of_f32(scale) & 0x7fffffffu) == 0x7f800000u;
  return was_infinite || (f16_of_f32(scale) & 0x7fffu) != 0x7c00u;
}

}  // namespace tilesmith
