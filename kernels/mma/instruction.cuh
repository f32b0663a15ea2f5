// The tensor-core instructions of the family `mma`, one face for all types.
//
// One product takes 16 rows of the left operand and 8 of the right one, and kSlabK elements of K. The left operand is
// op(A), whose rows run along M, the right one op(B) transposed, whose rows run along N; with kSwap the other way
// round.
//
//   16-bit  m16n8k16     tf32   m16n8k8    8-bit  m16n8k32
//   4-bit   m16n8k64     1-bit  m16n8k256: kSlabK and all that counts elements of K then counts bytes of them
//   f64     m16n8k8 or m16n8k16 (sm_90), or m8n8k4 four at a time
//   f32x3   three products of tf32 (shared/work/split.cuh)
//
// 2:4 sparse (kIsSparse): half of the left operand's elements are stored. A slab is 32 bytes of its stored rows and
// 64 of the right operand's, which take two loads. A word of metadata serves two slabs, and the selector says which
// one is meant; of bytes a word serves one slab (shared/multiply/sparse_layout.cuh).
//
// A thread's words lie in the same places for all of them (g = lane / 4, t = lane % 4). For all but f64 a slab is 32
// bytes of K and a word 4 bytes of it; for f64 a word is one element:
//
//   word (r, q)   row g + 8r,  K: bytes [16q + 4t, 16q + 4t + 4), or f64 element 4q + t
//   sums          c0, c1: row g, columns 2t, 2t+1       c2, c3: row g+8, the same columns
//
// Both operands are held as Rows16: the words of 16 rows, which are one left operand or two right ones. An instruction
// wants its words in consecutive registers: all of a left operand, q by q; those of a right one for each r.
#pragma once

#include "kernels/shared/multiply/sparse_layout.cuh"
#include "kernels/shared/either.cuh"
#include "kernels/shared/work/split.cuh"
#include "kernels/shared/multiply/tf32.cuh"

struct __nv_fp8_e4m3;  // only kernels with such operands include cuda_fp8.h
struct __nv_fp8_e5m2;

namespace tilesmith {

constexpr bool kIsF64 = sizeof(Operand) == 8;
using Word = Either<kIsF64, double, unsigned>;
constexpr int kSlabK = kIsF64 ? (kInstK < 8 ? 8 : kInstK) : 32 / int(sizeof(Operand));
constexpr int kQuarters = kIsF64 ? kSlabK / 4 : 2;  // words along K: q = 0 .. kQuarters - 1
constexpr int kRightLoads = kIsSparse ? 2 : 1;      // of the right operand, for one of the left
constexpr int kElementBytes = int(sizeof(Operand));
constexpr int kSlabsOfWord = metadata_block_k(kElementBytes) / (2 * kSlabK);  // of metadata

enum class Side { left, right };

__host__ __device__ constexpr int word_index(Side side, int r, int q) {
  return side == Side::left ? 2 * q + r : kQuarters * r + q;
}

struct Rows16 {
  Word w[2 * kQuarters];
};

template <typename T, typename U>
struct SameType {
  static constexpr bool value = false;
};
template <typename T>
struct SameType<T, T> {
  static constexpr bool value = true;
};

// Two sums of 16 bits share a register; all others have one (f64: two).
constexpr bool kPackedSums = sizeof(Accumulator) == 2;
struct Sums {
  Either<kPackedSums, unsigned, Accumulator> c[kPackedSums ? 2 : 4];
};

__device__ __forceinline__ void clear(Sums& sums) {
#pragma unroll
  for (auto& c : sums.c) c = 0;
}

// Shapes and types of the dense instruction and of the sparse one.
#define TILESMITH_MMA(dense, sparse, types, constraint)                                                                \
  if constexpr (kIsSparse) {                                                                                           \
    asm("mma.sp::ordered_metadata.sync.aligned." sparse ".row.col." types                                              \
        " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, %13;"                         \
        : constraint(sums.c[0]), constraint(sums.c[1]), constraint(sums.c[2]), constraint(sums.c[3])                   \
        : "r"(left.w[0]), "r"(left.w[1]), "r"(left.w[2]), "r"(left.w[3]), "r"(b0), "r"(b1), "r"(b2), "r"(b3),          \
          "r"(metadata), "n"(Selector));                                                                               \
  } else {                                                                                                             \
    asm("mma.sync.aligned." dense ".row.col." types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
        : constraint(sums.c[0]), constraint(sums.c[1]), constraint(sums.c[2]), constraint(sums.c[3])                   \
        : "r"(left.w[0]), "r"(left.w[1]), "r"(left.w[2]), "r"(left.w[3]), "r"(b0), "r"(b1));                           \
  }

// sums += left · right, `right` being the columns [8·second, 8·second + 8) of its 16: kRightLoads of Rows16.
// (Templates, so that the branches of other types are not compiled.)
template <int Selector, typename Op, typename S, typename R>
__device__ __forceinline__ void multiply_words(S& sums, const R& left, const R* right, int second, unsigned metadata) {
  const R& last = right[kRightLoads - 1];
  const unsigned b0 = right[0].w[2 * second], b1 = right[0].w[2 * second + 1];
  const unsigned b2 = last.w[2 * second], b3 = last.w[2 * second + 1];
  if constexpr (kPackedSums && kIsSparse) {
    asm("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, "
        "{%6, %7, %8, %9}, {%0, %1}, %10, %11;"
        : "+r"(sums.c[0]), "+r"(sums.c[1])
        : "r"(left.w[0]), "r"(left.w[1]), "r"(left.w[2]), "r"(left.w[3]), "r"(b0), "r"(b1), "r"(b2), "r"(b3),
          "r"(metadata), "n"(Selector));
  } else if constexpr (kPackedSums) {
    asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
        : "+r"(sums.c[0]), "+r"(sums.c[1])
        : "r"(left.w[0]), "r"(left.w[1]), "r"(left.w[2]), "r"(left.w[3]), "r"(b0), "r"(b1));
  } else if constexpr (sizeof(Op) == 4) {
    TILESMITH_MMA("m16n8k8", "m16n8k16", "f32.tf32.tf32.f32", "+f")
  } else if constexpr (kOperandIsBf16) {
    TILESMITH_MMA("m16n8k16", "m16n8k32", "f32.bf16.bf16.f32", "+f")
  } else if constexpr (sizeof(Op) == 2) {
    TILESMITH_MMA("m16n8k16", "m16n8k32", "f32.f16.f16.f32", "+f")
  } else if constexpr (kOperandBits == 1 && kOperandIsXor) {
    TILESMITH_MMA("m16n8k256", "", "s32.b1.b1.s32.xor.popc", "+r")
  } else if constexpr (kOperandBits == 1) {
    TILESMITH_MMA("m16n8k256", "", "s32.b1.b1.s32.and.popc", "+r")
  } else if constexpr (kOperandBits == 4 && kWiden == 0 && kOperandIsSigned) {
    TILESMITH_MMA("m16n8k64", "", "s32.s4.s4.s32", "+r")
  } else if constexpr (kOperandBits == 4 && kWiden == 0) {
    TILESMITH_MMA("m16n8k64", "", "s32.u4.u4.s32", "+r")
  } else if constexpr (SameType<Op, __nv_fp8_e4m3>::value) {
    TILESMITH_MMA("m16n8k32", "m16n8k64", "f32.e4m3.e4m3.f32", "+f")
  } else if constexpr (SameType<Op, __nv_fp8_e5m2>::value) {
    TILESMITH_MMA("m16n8k32", "m16n8k64", "f32.e5m2.e5m2.f32", "+f")
  } else if constexpr (kOperandIsSigned) {
    TILESMITH_MMA("m16n8k32", "m16n8k64", "s32.s8.s8.s32", "+r")
  } else {
    TILESMITH_MMA("m16n8k32", "m16n8k64", "s32.u8.u8.s32", "+r")
  }
}

#undef TILESMITH_MMA

template <typename S, typename R>
__device__ __forceinline__ void multiply_doubles(S& sums, const R& left, const R& right, int second) {
  const Word* b = right.w + kQuarters * second;
  if constexpr (kInstK == 16) {
    asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, "
        "{%12, %13, %14, %15}, {%0, %1, %2, %3};"
        : "+d"(sums.c[0]), "+d"(sums.c[1]), "+d"(sums.c[2]), "+d"(sums.c[3])
        : "d"(left.w[0]), "d"(left.w[1]), "d"(left.w[2]), "d"(left.w[3]), "d"(left.w[4]), "d"(left.w[5]),
          "d"(left.w[6]), "d"(left.w[7]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
  } else if constexpr (kInstK == 8) {
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+d"(sums.c[0]), "+d"(sums.c[1]), "+d"(sums.c[2]), "+d"(sums.c[3])
        : "d"(left.w[0]), "d"(left.w[1]), "d"(left.w[2]), "d"(left.w[3]), "d"(b[0]), "d"(b[1]));
  } else {
#pragma unroll
    for (int q = 0; q < 2; ++q) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(sums.c[2 * r]), "+d"(sums.c[2 * r + 1])
            : "d"(left.w[2 * q + r]), "d"(b[q]));
      }
    }
  }
}

// `metadata`: a sparse left operand's word. `slab`: its number in the step, which must be a constant once loops are
// unrolled.
template <typename S, typename R>
__device__ __forceinline__ void multiply(S& sums, const R& left, const R* right, int second, unsigned metadata = 0,
                                         int slab = 0) {
  if constexpr (kIsF64) {
    multiply_doubles(sums, left, *right, second);
  } else if (!kIsSparse || kSlabsOfWord == 1 || slab % 2 == 0) {
    multiply_words<0, Operand>(sums, left, right, second, metadata);
  } else {
    multiply_words<kSlabsOfWord - 1, Operand>(sums, left, right, second, metadata);
  }
}

// An f32 operand, split for three products.
template <typename Rows>
struct SplitRows {
  Rows big, small;

  __device__ __forceinline__ void set(const Rows& rows) {
#pragma unroll
    for (int i = 0; i < 2 * kQuarters; ++i) {
      const Split parts = split(rows.w[i]);
      big.w[i] = parts.big;
      small.w[i] = parts.small;
      asm volatile("" : "+r"(big.w[i]), "+r"(small.w[i]));  // not ahead, beside the slab that is multiplied
    }
  }
};

// What the instruction would cut off is rounded, if the tensor memory accelerator has not done it.
template <typename Rows>
__device__ __forceinline__ void round(Rows& rows) {
  if constexpr (kOperandIsTf32 && !kTma) {
#pragma unroll
    for (Word& word : rows.w) word = rounded_to_tf32(word);
  }
}

}  // namespace tilesmith
