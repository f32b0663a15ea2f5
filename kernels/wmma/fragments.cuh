// Constants, fragments and fragment loads of the family `wmma`; the picture is in wmma.cu.
#pragma once

#include <mma.h>

#include "kernels/shared/load/tile_copy.cuh"
#include "kernels/shared/either.cuh"

namespace tilesmith {

namespace wmma = nvcuda::wmma;

constexpr int kFragK = sizeof(Operand) == 8 ? 4 : sizeof(Operand) == 4 ? 8 : 16;
constexpr int kWarps = kWarpsM * kWarpsN;
constexpr int kThreads = kWarps * 32;
constexpr int kWarpTileM = kFragM * kFragsM;
constexpr int kWarpTileN = kFragN * kFragsN;
constexpr int kBlockM = kWarpTileM * kWarpsM;
constexpr int kBlockN = kWarpTileN * kWarpsN;
constexpr bool kStaged = kStages > 0;
constexpr bool kAsync = kStages > 1 && kCopyBytes >= 4;

static_assert(kBlockK % kFragK == 0, "a K-step must split into whole fragments");
static_assert(kThreads <= 1024, "a block has at most 1024 threads");

// Shapes as stored: [rows, cols] of the block's tile of A and B, and their row strides in shared memory.
constexpr int kPad = kPadBytes / int(sizeof(Operand));
constexpr int kTileRowsA = kTransA ? kBlockK : kBlockM;
constexpr int kTileColsA = kTransA ? kBlockM : kBlockK;
constexpr int kTileRowsB = kTransB ? kBlockN : kBlockK;
constexpr int kTileColsB = kTransB ? kBlockK : kBlockN;
constexpr int kStrideA = kTileColsA + kPad;
constexpr int kStrideB = kTileColsB + kPad;
constexpr int kStageElementsA = kTileRowsA * kStrideA;
constexpr int kStageElementsB = kTileRowsB * kStrideB;

// Each warp's scratch: in the epilogue one row of fragments, padded so that its rows start in different banks; where
// operands come straight from global memory also one fragment of them.
constexpr int kScratchStride = kWarpTileN + 16 / int(sizeof(Accumulator));
constexpr int kScratchRowBytes = kFragM * kScratchStride * int(sizeof(Accumulator));
constexpr int kOperandFragmentBytes = (kFragM > kFragN ? kFragM : kFragN) * kFragK * int(sizeof(Operand));
constexpr int kScratchBytes = (kScratchRowBytes > kOperandFragmentBytes ? kScratchRowBytes : kOperandFragmentBytes);
static_assert(kScratchBytes % 16 == 0, "every warp's scratch must start aligned");

// What the launch must ask for; the host computes the same from the config (wmma.cpp).
constexpr int kStagesBytes = kStages * (kStageElementsA + kStageElementsB) * int(sizeof(Operand));
constexpr int kSharedBytes = kStagesBytes > kWarps * kScratchBytes ? kStagesBytes : kWarps * kScratchBytes;

using Element = Either<kOperandIsTf32, wmma::precision::tf32, Operand>;
template <bool Transposed>
using Layout = Either<Transposed, wmma::col_major, wmma::row_major>;

using FragmentA = wmma::fragment<wmma::matrix_a, kFragM, kFragN, kFragK, Element, Layout<kTransA>>;
using FragmentB = wmma::fragment<wmma::matrix_b, kFragM, kFragN, kFragK, Element, Layout<kTransB>>;
using FragmentC = wmma::fragment<wmma::accumulator, kFragM, kFragN, kFragK, Accumulator>;

// tf32 operands lie in memory as f32: rounded to nearest here, never truncated by the multiplier.
template <typename Fragment>
__device__ __forceinline__ void round_operands(Fragment& fragment) {
  if constexpr (kOperandIsTf32) {
#pragma unroll
    for (int i = 0; i < fragment.num_elements; ++i) fragment.x[i] = wmma::__float_to_tf32(fragment.x[i]);
  }
}

struct WarpTile {
  FragmentC acc[kFragsM][kFragsN];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < kFragsM; ++i) {
#pragma unroll
      for (int j = 0; j < kFragsN; ++j) wmma::fill_fragment(acc[i][j], Accumulator(0));
    }
  }

  __device__ __forceinline__ void multiply_row(int i, FragmentA& a, FragmentB (&b)[kFragsN]) {
#pragma unroll
    for (int j = 0; j < kFragsN; ++j) wmma::mma_sync(acc[i][j], a, b[j], acc[i][j]);
  }

  __device__ __forceinline__ void multiply(FragmentA (&a)[kFragsM], FragmentB (&b)[kFragsN]) {
#pragma unroll
    for (int i = 0; i < kFragsM; ++i) multiply_row(i, a[i], b);
  }
};

// load_matrix_sync from shared memory. The compiler finds the address space by itself for the types that ldmatrix
// serves; for bf16, tf32 and f64 it emits generic loads, several times slower, unless the instruction names it.
template <typename Fragment>
__device__ __forceinline__ void load_from_shared(Fragment& fragment, const Operand* pointer, int stride) {
  wmma::load_matrix_sync(fragment, pointer, unsigned(stride));
}

// Fragments of bf16 are 2, 4 or 8 registers of two elements each.
#define TILESMITH_WORDS_2(instruction)                                                                              \
  asm volatile(instruction " {%0, %1}, [%2], %3;"                                                                   \
               : "=r"(x[0]), "=r"(x[1])                                                                             \
               : "r"(shared_address(pointer)), "r"(stride)                                                          \
               : "memory")
#define TILESMITH_WORDS_4(instruction)                                                                              \
  asm volatile(instruction " {%0, %1, %2, %3}, [%4], %5;"                                                           \
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])                                                     \
               : "r"(shared_address(pointer)), "r"(stride)                                                          \
               : "memory")
#define TILESMITH_WORDS_8(instruction)                                                                              \
  asm volatile(instruction " {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"                                           \
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]), "=r"(x[4]), "=r"(x[5]), "=r"(x[6]), "=r"(x[7])     \
               : "r"(shared_address(pointer)), "r"(stride)                                                          \
               : "memory")
#define TILESMITH_LOAD_BF16(Use, letter, Major, major, M, N, shape, WORDS)                                          \
  __device__ __forceinline__ void load_from_shared(                                                                 \
      wmma::fragment<wmma::Use, M, N, 16, __nv_bfloat16, wmma::Major>& fragment, const __nv_bfloat16* pointer,      \
      int stride) {                                                                                                 \
    unsigned* x = reinterpret_cast<unsigned*>(fragment.x);                                                          \
    WORDS("wmma.load." letter ".sync.aligned." major "." shape ".shared.bf16");                                     \
  }
#define TILESMITH_LOADS_BF16(M, N, shape, WORDS_A, WORDS_B)                         \
  TILESMITH_LOAD_BF16(matrix_a, "a", row_major, "row", M, N, shape, WORDS_A)        \
  TILESMITH_LOAD_BF16(matrix_a, "a", col_major, "col", M, N, shape, WORDS_A)        \
  TILESMITH_LOAD_BF16(matrix_b, "b", row_major, "row", M, N, shape, WORDS_B)        \
  TILESMITH_LOAD_BF16(matrix_b, "b", col_major, "col", M, N, shape, WORDS_B)
TILESMITH_LOADS_BF16(16, 16, "m16n16k16", TILESMITH_WORDS_4, TILESMITH_WORDS_4)
TILESMITH_LOADS_BF16(32, 8, "m32n8k16", TILESMITH_WORDS_8, TILESMITH_WORDS_2)
TILESMITH_LOADS_BF16(8, 32, "m8n32k16", TILESMITH_WORDS_2, TILESMITH_WORDS_8)
#undef TILESMITH_LOADS_BF16
#undef TILESMITH_LOAD_BF16
#undef TILESMITH_WORDS_8
#undef TILESMITH_WORDS_4
#undef TILESMITH_WORDS_2

#define TILESMITH_LOAD_TF32(Use, letter, Major, major)                                                              \
  __device__ __forceinline__ void load_from_shared(                                                                 \
      wmma::fragment<wmma::Use, 16, 16, 8, wmma::precision::tf32, wmma::Major>& fragment, const float* pointer,     \
      int stride) {                                                                                                 \
    unsigned bits[4];                                                                                               \
    asm volatile("wmma.load." letter ".sync.aligned." major ".m16n16k8.shared.tf32 {%0, %1, %2, %3}, [%4], %5;"     \
                 : "=r"(bits[0]), "=r"(bits[1]), "=r"(bits[2]), "=r"(bits[3])                                       \
                 : "r"(shared_address(pointer)), "r"(stride)                                                        \
                 : "memory");                                                                                       \
    for (int i = 0; i < 4; ++i) fragment.x[i] = __uint_as_float(bits[i]);                                           \
  }
#define TILESMITH_LOAD_F64(Use, letter, Major, major)                                                               \
  __device__ __forceinline__ void load_from_shared(wmma::fragment<wmma::Use, 8, 8, 4, double, wmma::Major>& fragment, \
                                                   const double* pointer, int stride) {                             \
    asm volatile("wmma.load." letter ".sync.aligned." major ".m8n8k4.shared.f64 {%0}, [%1], %2;"                    \
                 : "=d"(fragment.x[0])                                                                              \
                 : "r"(shared_address(pointer)), "r"(stride)                                                        \
                 : "memory");                                                                                       \
  }
#define TILESMITH_LOADS(Define)                   \
  Define(matrix_a, "a", row_major, "row")         \
  Define(matrix_a, "a", col_major, "col")         \
  Define(matrix_b, "b", row_major, "row")         \
  Define(matrix_b, "b", col_major, "col")
TILESMITH_LOADS(TILESMITH_LOAD_TF32)
TILESMITH_LOADS(TILESMITH_LOAD_F64)
#undef TILESMITH_LOADS
#undef TILESMITH_LOAD_F64
#undef TILESMITH_LOAD_TF32

}  // namespace tilesmith
