// C ← α·op(A)·op(B) + β·C on CUDA cores: the example of a family of one's own.
//
//   A block computes kBlockM × kBlockN elements of C. A thread computes kThreadM of them, all in one column:
//   thread (row, column) has rows row, row + kThreadRows, row + 2·kThreadRows, ...
//   Shared memory, as f32: kBlockM rows of A and kBlockN columns of B, kBlockK elements of each and one of padding.
//
// What Tilesmith puts before this text: the types Operand (here __half), Output and ScaleType (here float), kTransA,
// kTransB, a constant for each parameter (block_m is kBlockM), and GemmArgs (kernels/shared/gemm_args.cuh).
#include "kernels/shared/finish/scale.cuh"
#include "load_tile.cuh"

namespace tilesmith {

constexpr int kThreadRows = kBlockM / kThreadM;
constexpr int kThreads = kThreadRows * kBlockN;
static_assert(kBlockM % kThreadM == 0, "a tile must split into the rows of its threads");

}  // namespace tilesmith

extern "C" __global__ void __launch_bounds__(tilesmith::kThreads) gemm(const __grid_constant__ tilesmith::GemmArgs args) {
  using namespace tilesmith;
  extern __shared__ float shared[];
  float* const tile_a = shared;
  float* const tile_b = shared + kBlockM * kTileStride;
  const Operand* const a = static_cast<const Operand*>(args.a);
  const Operand* const b = static_cast<const Operand*>(args.b);
  const int m0 = int(blockIdx.x) * kBlockM, n0 = int(blockIdx.y) * kBlockN;
  const int row = int(threadIdx.x) / kBlockN, column = int(threadIdx.x) % kBlockN;

  float sums[kThreadM] = {};
  for (int k0 = 0; k0 < args.k; k0 += kBlockK) {
    load_tile<kTransA, kBlockM, kThreads>(tile_a, a, args.lda, m0, k0, args.m, args.k);
    load_tile<!kTransB, kBlockN, kThreads>(tile_b, b, args.ldb, n0, k0, args.n, args.k);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kBlockK; ++k) {
      const float of_b = tile_b[column * kTileStride + k];
#pragma unroll
      for (int i = 0; i < kThreadM; ++i) sums[i] += tile_a[(row + i * kThreadRows) * kTileStride + k] * of_b;
    }
    __syncthreads();
  }

  const ScaleType alpha = scale_as<ScaleType>(args.alpha), beta = scale_as<ScaleType>(args.beta);
  const int n = n0 + column;
  Output* const d = static_cast<Output*>(args.d);
#pragma unroll
  for (int i = 0; i < kThreadM; ++i) {
    const int m = m0 + row + i * kThreadRows;
    if (m >= args.m || n >= args.n) continue;
    Output& out = d[m * args.ldc + n];
    // Where β is 0, C may hold anything, NaN too: it must not be read.
    out = beta == 0 ? linear<Output>(alpha, sums[i]) : linear<Output>(alpha, sums[i], beta, out);
  }
}
