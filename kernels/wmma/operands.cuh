// How the family `wmma` gets its operands and multiplies them: straight from global memory, or staged in shared memory.
#pragma once

#include "kernels/common/gemm_args.cuh"
#include "kernels/wmma/fragments.cuh"

namespace tilesmith {

// ---- operands straight from global memory -----------------------------------------------------------------------

// One fragment of the matrix [rows, cols] whose first element is (row, col). Fragments that reach over the edge are
// gathered, zero-filled, in the warp's scratch.
template <typename Fragment, int FragRows, int FragCols>
__device__ __forceinline__ void load_from_global(Fragment& fragment, const Operand* matrix, long long ld, int row,
                                                 int col, int rows, int cols, Operand* scratch) {
  if (row + FragRows <= rows && col + FragCols <= cols) {
    wmma::load_matrix_sync(fragment, matrix + row * ld + col, unsigned(ld));
  } else {
    __syncwarp();
    for (int e = int(threadIdx.x % 32); e < FragRows * FragCols; e += 32) {
      const int r = row + e / FragCols;
      const int c = col + e % FragCols;
      scratch[e] = r < rows && c < cols ? matrix[r * ld + c] : Operand(0);
    }
    __syncwarp();
    wmma::load_matrix_sync(fragment, scratch, FragCols);
  }
  round_operands(fragment);
}

__device__ __forceinline__ void accumulate_from_global(WarpTile& tile, const GemmArgs& args, int m0, int n0,
                                                       Operand* scratch) {
  const Operand* a = static_cast<const Operand*>(args.a);
  const Operand* b = static_cast<const Operand*>(args.b);
  // A warp whose tile lies outside C multiplies nothing; it owns no barrier that others wait at.
  if (m0 >= args.m || n0 >= args.n) return;
  for (int k = 0; k < args.k; k += kFragK) {
    FragmentA fa[kFragsM];
    FragmentB fb[kFragsN];
#pragma unroll
    for (int i = 0; i < kFragsM; ++i) {
      const int m = m0 + i * kFragM;
      if constexpr (kTransA) {
        load_from_global<FragmentA, kFragK, kFragM>(fa[i], a, args.lda, k, m, args.k, args.m, scratch);
      } else {
        load_from_global<FragmentA, kFragM, kFragK>(fa[i], a, args.lda, m, k, args.m, args.k, scratch);
      }
    }
#pragma unroll
    for (int j = 0; j < kFragsN; ++j) {
      const int n = n0 + j * kFragN;
      if constexpr (kTransB) {
        load_from_global<FragmentB, kFragN, kFragK>(fb[j], b, args.ldb, n, k, args.n, args.k, scratch);
      } else {
        load_from_global<FragmentB, kFragK, kFragN>(fb[j], b, args.ldb, k, n, args.k, args.n, scratch);
      }
    }
    tile.multiply(fa, fb);
  }
}

// ---- operands staged in shared memory ---------------------------------------------------------------------------

// The block's copies of both operands, one K-step after the other.
struct StepCopy {
  TileCopy<Operand, kTileRowsA, kTileColsA, kStrideA, kCopyBytes, kThreads, kAsync, kTransA> a;
  TileCopy<Operand, kTileRowsB, kTileColsB, kStrideB, kCopyBytes, kThreads, kAsync, !kTransB> b;

  __device__ __forceinline__ StepCopy(const GemmArgs& args, int block_m0, int block_n0)
      : a(static_cast<const Operand*>(args.a), args.lda, kTransA ? 0 : block_m0, kTransA ? block_m0 : 0,
          kTransA ? args.k : args.m, kTransA ? args.m : args.k),
        b(static_cast<const Operand*>(args.b), args.ldb, kTransB ? block_n0 : 0, kTransB ? 0 : block_n0,
          kTransB ? args.n : args.k, kTransB ? args.k : args.n) {}

  __device__ __forceinline__ void next(Operand* stage) {
    a.step(stage);
    b.step(stage + kStageElementsA);
  }
};

// Multiplies one staged K-step. `while_loading()` runs once, between the first loads of fragments and their use: there the
// copies of a later step are started, whose address arithmetic then hides the loads' latency.
template <typename WhileLoading>
__device__ __forceinline__ void multiply_step(WarpTile& tile, const Operand* stage, int warp_m0, int warp_n0,
                                              WhileLoading while_loading) {
  const Operand* shared_a = stage;
  const Operand* shared_b = stage + kStageElementsA;
#pragma unroll
  for (int k = 0; k < kBlockK; k += kFragK) {
    FragmentA fa[kFragsM];
    FragmentB fb[kFragsN];
#pragma unroll
    for (int i = 0; i < kFragsM; ++i) {
      const int m = warp_m0 + i * kFragM;
      load_from_shared(fa[i], shared_a + (kTransA ? k * kStrideA + m : m * kStrideA + k), kStrideA);
      round_operands(fa[i]);
    }
#pragma unroll
    for (int j = 0; j < kFragsN; ++j) {
      const int n = warp_n0 + j * kFragN;
      load_from_shared(fb[j], shared_b + (kTransB ? n * kStrideB + k : k * kStrideB + n), kStrideB);
      round_operands(fb[j]);
    }
    if (k == 0) while_loading();
    tile.multiply(fa, fb);
  }
}

__device__ __forceinline__ void accumulate_staged(WarpTile& tile, const GemmArgs& args, int block_m0, int block_n0,
                                                  int warp_m0, int warp_n0, Operand* shared) {
  constexpr int kStageElements = kStageElementsA + kStageElementsB;
  const int steps = (args.k + kBlockK - 1) / kBlockK;
  StepCopy copy(args, block_m0, block_n0);
  if constexpr (kStages == 1) {
    for (int step = 0; step < steps; ++step) {
      copy.next(shared);
      __syncthreads();
      multiply_step(tile, shared, warp_m0, warp_n0, [] {});
      __syncthreads();
    }
  } else {
#pragma unroll
    for (int step = 0; step < kStages - 1; ++step) {
      if (step < steps) copy.next(shared + step * kStageElements);
      if constexpr (kAsync) async_commit();
    }
    Operand* reading = shared;
    Operand* writing = shared + (kStages - 1) * kStageElements;
    Operand* const end = shared + kStages * kStageElements;
    for (int step = 0; step < steps; ++step) {
      if constexpr (kAsync) async_wait<kStages - 2>();
      __syncthreads();  // the step to be multiplied has landed, and the slot to be written is no longer read
      multiply_step(tile, reading, warp_m0, warp_n0, [&] {
        if (step + kStages - 1 < steps) copy.next(writing);
        if constexpr (kAsync) async_commit();  // also when empty: the wait above counts groups
      });
      reading = reading + kStageElements == end ? shared : reading + kStageElements;
      writing = writing + kStageElements == end ? shared : writing + kStageElements;
    }
    if constexpr (kAsync) async_wait<0>();
    __syncthreads();  // before the epilogue takes the memory over
  }
}

}  // namespace tilesmith
