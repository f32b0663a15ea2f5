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

__device__ __forceinline__ void copy_step(Operand* stage, const GemmArgs& args, int block_m0, int block_n0, int k0) {
  Operand* shared_a = stage;
  Operand* shared_b = stage + kStageElementsA;
  const int row_a = kTransA ? k0 : block_m0, col_a = kTransA ? block_m0 : k0;
  const int row_b = kTransB ? block_n0 : k0, col_b = kTransB ? k0 : block_n0;
  const int rows_a = kTransA ? args.k : args.m, cols_a = kTransA ? args.m : args.k;
  const int rows_b = kTransB ? args.n : args.k, cols_b = kTransB ? args.k : args.n;
  copy_tile<Operand, kTileRowsA, kTileColsA, kStrideA, kCopyBytes, kThreads, kAsync>(
      shared_a, static_cast<const Operand*>(args.a), args.lda, row_a, col_a, rows_a, cols_a);
  copy_tile<Operand, kTileRowsB, kTileColsB, kStrideB, kCopyBytes, kThreads, kAsync>(
      shared_b, static_cast<const Operand*>(args.b), args.ldb, row_b, col_b, rows_b, cols_b);
}

__device__ __forceinline__ void multiply_step(WarpTile& tile, const Operand* stage, int warp_m0, int warp_n0) {
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
    tile.multiply(fa, fb);
  }
}

__device__ __forceinline__ void accumulate_staged(WarpTile& tile, const GemmArgs& args, int block_m0, int block_n0,
                                                  int warp_m0, int warp_n0, Operand* shared) {
  constexpr int kStageElements = kStageElementsA + kStageElementsB;
  const int steps = (args.k + kBlockK - 1) / kBlockK;
  if constexpr (kStages == 1) {
    for (int step = 0; step < steps; ++step) {
      copy_step(shared, args, block_m0, block_n0, step * kBlockK);
      __syncthreads();
      multiply_step(tile, shared, warp_m0, warp_n0);
      __syncthreads();
    }
  } else {
#pragma unroll
    for (int step = 0; step < kStages - 1; ++step) {
      if (step < steps) copy_step(shared + step * kStageElements, args, block_m0, block_n0, step * kBlockK);
      if constexpr (kAsync) async_commit();
    }
    int reading = 0;
    int writing = kStages - 1;
    for (int step = 0; step < steps; ++step) {
      if constexpr (kAsync) async_wait<kStages - 2>();
      __syncthreads();  // the step to be multiplied has landed, and the slot to be written is no longer read
      const int ahead = step + kStages - 1;
      if (ahead < steps) {
        copy_step(shared + writing * kStageElements, args, block_m0, block_n0, ahead * kBlockK);
      }
      if constexpr (kAsync) async_commit();  // also when empty: the wait above counts groups
      multiply_step(tile, shared + reading * kStageElements, warp_m0, warp_n0);
      reading = reading + 1 == kStages ? 0 : reading + 1;
      writing = writing + 1 == kStages ? 0 : writing + 1;
    }
    if constexpr (kAsync) async_wait<0>();
    __syncthreads();  // before the epilogue takes the memory over
  }
}

}  // namespace tilesmith
