// Chunks of 16 bytes of an operand: how they are loaded, and how they are multiplied (family `gemv`).
//
//   type           a chunk's factors               Sum
//   f16, bf16      8 × f32                         f32   (whatever the type pair's accumulator: none is wider)
//   tf32           4 × f32, rounded to tf32        f32
//   f32            4 × f32                         f32   (kWholeF32)
//   f64            2 × f64                         f64
//   s8, u8         4 × four elements for dp4a      s32
#pragma once

namespace tilesmith {

template <int Bytes> struct BitsOf;
template <> struct BitsOf<1> { using type = unsigned char; };
template <> struct BitsOf<2> { using type = unsigned short; };
template <> struct BitsOf<4> { using type = unsigned; };
template <> struct BitsOf<8> { using type = unsigned long long; };
using Bits = BitsOf<sizeof(Operand)>::type;  // an element as it lies in memory

template <typename T> struct Arithmetic { using Factor = float; using Sum = float; };
template <> struct Arithmetic<double> { using Factor = double; using Sum = double; };
template <> struct Arithmetic<signed char> { using Factor = int; using Sum = int; };
template <> struct Arithmetic<unsigned char> { using Factor = unsigned; using Sum = int; };
using Factor = Arithmetic<Operand>::Factor;
using Sum = Arithmetic<Operand>::Sum;

constexpr bool kWholeF32 = sizeof(Operand) == 4 && !kOperandIsTf32;
constexpr bool kPacked = sizeof(Operand) == 1;           // a factor is four elements
constexpr int kVector = 16 / int(sizeof(Operand));       // elements of a chunk
constexpr int kFactors = kPacked ? 4 : kVector;          // factors of a chunk

struct alignas(16) Chunk {
  unsigned w[4];
};

// The matrix is read once: it need not stay in the L1. `from` must be 16-byte aligned. (Volatile: loads keep their
// place before the barriers behind which they are used.)
__device__ __forceinline__ Chunk load_chunk(const Bits* from) {
  Chunk c;
  if constexpr (kPrefetchBytes == 256) {
    asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(c.w[0]), "=r"(c.w[1]), "=r"(c.w[2]), "=r"(c.w[3]) : "l"(from));
  } else {
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(c.w[0]), "=r"(c.w[1]), "=r"(c.w[2]), "=r"(c.w[3]) : "l"(from));
  }
  return c;
}

// Puts an element before those of the chunk, whose last one falls out.
__device__ __forceinline__ void push_front(Chunk& chunk, Bits bits) {
  if constexpr (sizeof(Operand) == 8) {
    chunk = {{unsigned(bits), unsigned(static_cast<unsigned long long>(bits) >> 32), chunk.w[0], chunk.w[1]}};
  } else if constexpr (sizeof(Operand) == 4) {
    chunk = {{unsigned(bits), chunk.w[0], chunk.w[1], chunk.w[2]}};
  } else {
    constexpr int kBits = 8 * int(sizeof(Operand)) % 32;
#pragma unroll
    for (int i = 3; i > 0; --i) chunk.w[i] = chunk.w[i] << kBits | chunk.w[i - 1] >> (32 - kBits) % 32;
    chunk.w[0] = chunk.w[0] << kBits | unsigned(bits);
  }
}

// Elements [first, first + kVector) of a run, those outside [0, end) as zeros. (A loop as short as can be, since few
// chunks want it; not a function to call, before which registers of loads in flight would have to be waited for and
// spilled.)
__device__ __forceinline__ Chunk load_elements(const Bits* run, int first, int end) {
  Chunk chunk{};
#pragma unroll 1
  for (int at = first + kVector - 1; at >= first; --at)
    push_front(chunk, at >= 0 && at < end ? __ldg(run + at) : Bits(0));
  return chunk;
}

// A chunk of which a part may lie outside the elements [0, end) of its row: there it is zero, or whatever lies beside
// the row in the matrix, until keep_inside(). Nothing outside the matrix is read. row + first must be 16-byte aligned.
__device__ __forceinline__ Chunk load_part(
    const Bits* row, int first, int end, const Bits* matrix, const Bits* matrix_end) {
  if (first >= end || first + kVector <= 0) return Chunk{};
  if (row + first >= matrix && row + first + kVector <= matrix_end) return load_chunk(row + first);
  return load_elements(row, first, end);
}

// Zeros in the place of what lies outside: it may be NaN.
__device__ __forceinline__ void keep_inside(Chunk& chunk, int first, int end) {
  constexpr int kWordElements = sizeof(Operand) == 8 ? 1 : 4 / int(sizeof(Operand));
  constexpr int kBits = 8 * int(sizeof(Operand));
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    unsigned kept = 0;
#pragma unroll
    for (int e = 0; e < kWordElements; ++e) {
      const int at = first + (sizeof(Operand) == 8 ? i / 2 : i * kWordElements + e);
      if (at >= 0 && at < end) kept |= unsigned((1ull << min(kBits, 32)) - 1) << (e * (kBits % 32));
    }
    chunk.w[i] &= kept;
  }
}

// The nearest tf32 (ties away from zero), as an f32 whose low 13 bits are zero.
__device__ __forceinline__ float rounded_to_tf32(unsigned bits) {
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(__uint_as_float(bits)));
  return __uint_as_float(bits);
}

__device__ __forceinline__ float f32_of(unsigned word, bool upper) {
  if constexpr (kOperandIsBf16) return __uint_as_float(upper ? word & 0xffff0000u : word << 16);
  float low, high;
  asm("{ .reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h; }" : "=f"(low), "=f"(high) : "r"(word));
  return upper ? high : low;
}

// The i-th factor of a chunk.
__device__ __forceinline__ Factor factor(const Chunk& chunk, int i) {
  if constexpr (kPacked) {
    return Factor(chunk.w[i]);
  } else if constexpr (sizeof(Operand) == 2) {
    return Factor(f32_of(chunk.w[i / 2], i % 2 == 1));
  } else if constexpr (kOperandIsTf32) {
    return Factor(rounded_to_tf32(chunk.w[i]));
  } else if constexpr (kWholeF32) {
    return Factor(__uint_as_float(chunk.w[i]));
  } else {
    return Factor(__hiloint2double(int(chunk.w[2 * i + 1]), int(chunk.w[2 * i])));
  }
}

// One element of the vector as a factor; of 8-bit ones only the lowest of four elements is set.
__device__ __forceinline__ Factor factor(Bits bits) {
  if constexpr (kPacked) {
    return Factor(bits);
  } else if constexpr (sizeof(Operand) == 2) {
    return Factor(f32_of(unsigned(bits), false));
  } else if constexpr (kOperandIsTf32) {
    return Factor(rounded_to_tf32(unsigned(bits)));
  } else if constexpr (kWholeF32) {
    return Factor(__uint_as_float(unsigned(bits)));
  } else {
    return Factor(__longlong_as_double(static_cast<long long>(bits)));
  }
}

// One multiply-add; of 8-bit operands four of them, signed or unsigned, modulo 2^32.
__device__ __forceinline__ void multiply_add(float& sum, float a, float b) { sum = fmaf(a, b, sum); }
__device__ __forceinline__ void multiply_add(double& sum, double a, double b) { sum = fma(a, b, sum); }
__device__ __forceinline__ void multiply_add(int& sum, int a, int b) { sum = __dp4a(a, b, sum); }
__device__ __forceinline__ void multiply_add(int& sum, unsigned a, unsigned b) {
  sum = int(__dp4a(a, b, unsigned(sum)));
}

// sums += chunk · x, element by element. Of four 8-bit elements dp4a picks the one under x's only set byte.
__device__ __forceinline__ void multiply_add_elements(Sum (&sums)[kVector], const Chunk& chunk, Factor x) {
#pragma unroll
  for (int e = 0; e < kVector; ++e) {
    if constexpr (kPacked) {
      multiply_add(sums[e], factor(chunk, e / 4), Factor(unsigned(x) << (e % 4 * 8)));
    } else {
      multiply_add(sums[e], factor(chunk, e), x);
    }
  }
}

}  // namespace tilesmith
