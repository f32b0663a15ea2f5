// The sparse instructions of the family `mma`: the left operand is 2:4 sparse, and half as many of its elements are stored.
//
//   16-bit  m16n8k32    tf32  m16n8k16    8-bit  m16n8k64
//
// A slab is 32 bytes of stored rows and 64 of dense ones, which two loads bring, each as of dense operands (instruction.cuh). A word of
// metadata serves two slabs, told apart by the selector, or, of bytes, one (common/sparse_layout.cuh).
#pragma once

#include "kernels/common/sparse_args.cuh"
#include "kernels/mma/instruction.cuh"

namespace tilesmith {

constexpr int kElementBytes = int(sizeof(Operand));
constexpr int kSparseSlabK = 2 * kSlabK;  // elements of K
constexpr int kSlabsOfWord = metadata_block_k(kElementBytes) / kSparseSlabK;

// The words of 16 rows of the dense operand.
struct DenseRows16 {
  Rows16 half[2];
};

#define TILESMITH_MMA_SP(shape, types, constraint)                                                                                          \
  asm("mma.sp::ordered_metadata.sync.aligned." shape ".row.col." types                                                                      \
      " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, %13;"                                               \
      : constraint(sums.c[0]), constraint(sums.c[1]), constraint(sums.c[2]), constraint(sums.c[3])                                          \
      : "r"(left.w[0]), "r"(left.w[1]), "r"(left.w[2]), "r"(left.w[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(metadata), \
        "n"(Selector))

// sums += left · right, `right` being the columns [8·second, 8·second + 8) of its 16.
template <int Selector, typename Op, typename S, typename R>
__device__ __forceinline__ void multiply_sparse_words(S& sums, const R& left, const DenseRows16& right, int second, unsigned metadata) {
  const unsigned b[4] = {right.half[0].w[2 * second], right.half[0].w[2 * second + 1], right.half[1].w[2 * second], right.half[1].w[2 * second + 1]};
  if constexpr (kPackedSums) {
    asm("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7, %8, %9}, {%0, %1}, %10, %11;"
        : "+r"(sums.c[0]), "+r"(sums.c[1])
        : "r"(left.w[0]), "r"(left.w[1]), "r"(left.w[2]), "r"(left.w[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(metadata), "n"(Selector));
  } else if constexpr (kOperandIsTf32) {
    TILESMITH_MMA_SP("m16n8k16", "f32.tf32.tf32.f32", "+f");
  } else if constexpr (sizeof(Op) == 2) {
    if constexpr (kOperandIsBf16) {
      TILESMITH_MMA_SP("m16n8k32", "f32.bf16.bf16.f32", "+f");
    } else {
      TILESMITH_MMA_SP("m16n8k32", "f32.f16.f16.f32", "+f");
    }
#ifdef TILESMITH_FP8_PRODUCTS
  } else if constexpr (SameType<Op, __nv_fp8_e4m3>::value) {
    TILESMITH_MMA_SP("m16n8k64", "f32.e4m3.e4m3.f32", "+f");
  } else {
    TILESMITH_MMA_SP("m16n8k64", "f32.e5m2.e5m2.f32", "+f");
  }
#else
  } else if constexpr (SameType<Op, signed char>::value) {
    TILESMITH_MMA_SP("m16n8k64", "s32.s8.s8.s32", "+r");
  } else {
    TILESMITH_MMA_SP("m16n8k64", "s32.u8.u8.s32", "+r");
  }
#endif
}

#undef TILESMITH_MMA_SP

// Of a slab of a step: the selector is part of the instruction, and the slab known where loops over it are unrolled.
template <typename S, typename R>
__device__ __forceinline__ void multiply_sparse(S& sums, const R& left, const DenseRows16& right, int second, unsigned metadata, int slab) {
  if (kSlabsOfWord == 1 || slab % 2 == 0) {
    multiply_sparse_words<0, Operand>(sums, left, right, second, metadata);
  } else {
    multiply_sparse_words<kSlabsOfWord - 1, Operand>(sums, left, right, second, metadata);
  }
}

}  // namespace tilesmith
