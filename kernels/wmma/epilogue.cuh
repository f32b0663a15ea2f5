// How the family `wmma` writes C: whole fragments from registers, or rows of fragments through shared memory.
#pragma once

#include "kernels/shared/finish/scale.cuh"
#include "kernels/wmma/fragments.cuh"

namespace tilesmith {

// One row of fragments through the warp's scratch, then wide stores of whole rows where C's alignment allows.
__device__ __forceinline__ void store_row_through_scratch(WarpTile& tile, int i, const GemmArgs& args, int m0, int n0,
                                                          Accumulator* scratch) {
  const ScaleType alpha = scale_as<ScaleType>(args.alpha);
  const ScaleType beta = scale_as<ScaleType>(args.beta);
  Output* c = static_cast<Output*>(args.d);
  constexpr int kVector = 16 / int(sizeof(Output));
  static_assert(kWarpTileN % kVector == 0, "a row of the warp's tile must split into 16-byte stores");
  const bool wide = (reinterpret_cast<unsigned long long>(c) | (args.ldc * sizeof(Output))) % 16 == 0;
  struct alignas(16) Vector {
    Output x[kVector];
  };

  __syncwarp();  // the former row has been read
#pragma unroll
  for (int j = 0; j < kFragsN; ++j) {
    wmma::store_matrix_sync(scratch + j * kFragN, tile.acc[i][j], kScratchStride, wmma::mem_row_major);
  }
  __syncwarp();
  constexpr int kVectorsPerRow = kWarpTileN / kVector;
#pragma unroll 4
  for (int v = int(threadIdx.x % 32); v < kFragM * kVectorsPerRow; v += 32) {
    const int row = v / kVectorsPerRow;
    const int col = (v % kVectorsPerRow) * kVector;
    const int m = m0 + i * kFragM + row;
    const int n = n0 + col;
    if (m >= args.m || n >= args.n) continue;
    const Accumulator* from = scratch + row * kScratchStride + col;
    Output* to = c + m * args.ldc + n;
    if (wide && n + kVector <= args.n) {
      Vector out;
      if (beta == ScaleType(0)) {
#pragma unroll
        for (int e = 0; e < kVector; ++e) out.x[e] = linear<Output>(alpha, from[e]);
      } else {
        const Vector old = *reinterpret_cast<const Vector*>(to);
#pragma unroll
        for (int e = 0; e < kVector; ++e) out.x[e] = linear<Output>(alpha, from[e], beta, old.x[e]);
      }
      *reinterpret_cast<Vector*>(to) = out;
    } else {
      for (int e = 0; e < kVector && n + e < args.n; ++e) {
        to[e] = beta == ScaleType(0) ? linear<Output>(alpha, from[e]) : linear<Output>(alpha, from[e], beta, to[e]);
      }
    }
  }
}

// Whole fragments straight from registers; kStoreDirect needs 16-byte rows of C (Family::refusal sees to it).
__device__ __forceinline__ void store_fragment_direct(FragmentC& acc, const GemmArgs& args, int m, int n) {
  const ScaleType alpha = scale_as<ScaleType>(args.alpha);
  const ScaleType beta = scale_as<ScaleType>(args.beta);
  Output* c = static_cast<Output*>(args.d) + m * args.ldc + n;
  if (beta == ScaleType(0)) {
#pragma unroll
    for (int e = 0; e < acc.num_elements; ++e) acc.x[e] = linear<Output>(alpha, acc.x[e]);
  } else {
    FragmentC old;
    wmma::load_matrix_sync(old, c, unsigned(args.ldc), wmma::mem_row_major);
#pragma unroll
    for (int e = 0; e < acc.num_elements; ++e) acc.x[e] = linear<Output>(alpha, acc.x[e], beta, old.x[e]);
  }
  wmma::store_matrix_sync(c, acc, unsigned(args.ldc), wmma::mem_row_major);
}

__device__ __forceinline__ void store(WarpTile& tile, const GemmArgs& args, int m0, int n0, Accumulator* scratch) {
#pragma unroll
  for (int i = 0; i < kFragsM; ++i) {
    if constexpr (kStoreDirect) {
      if (m0 + (i + 1) * kFragM <= args.m && n0 + kWarpTileN <= args.n) {
#pragma unroll
        for (int j = 0; j < kFragsN; ++j) {
          store_fragment_direct(tile.acc[i][j], args, m0 + i * kFragM, n0 + j * kFragN);
        }
        continue;
      }
    }
    store_row_through_scratch(tile, i, args, m0, n0, scratch);
  }
}

}  // namespace tilesmith
