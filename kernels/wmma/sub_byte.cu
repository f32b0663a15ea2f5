// Family `wmma` for operands below a byte: C ← α·op(A)·op(B) + β·C with nvcuda::wmma's experimental fragments, 8×8×32
// of 4 bits and 8×8×128 of bits. A reference for the other families: a plain loop over one buffer, which gathers rows
// along K of every layout.
//
//   shared memory, one K-step of kSlabs fragments:   a[kBlockM][words], b[kBlockN][words]     then each warp's 8×8 sums
#include <mma.h>

#include "kernels/shared/gemm_args.cuh"
#include "kernels/shared/work/raster.cuh"
#include "kernels/shared/finish/scale.cuh"
#include "kernels/simt/sub_byte.cuh"
#include "kernels/shared/either.cuh"

namespace tilesmith {

namespace wmma = nvcuda::wmma;

constexpr int kFrag = 8;                                // rows, columns
constexpr int kFragK = 128 / kOperandBits;              // elements: 16 bytes
constexpr int kOfWord = 32 / kOperandBits;              // elements
constexpr int kStepWords = 4 * kSlabs;                  // of a row
constexpr int kStrideWords = kStepWords + 4;            // rows start in different banks, at 16 bytes
constexpr int kWarps = kWarpsM * kWarpsN;
constexpr int kThreads = kWarps * 32;
constexpr int kBlockM = kWarpsM * kFragsM * kFrag;
constexpr int kBlockN = kWarpsN * kFragsN * kFrag;

using Nibble = Either<kOperandIsSigned, wmma::experimental::precision::s4, wmma::experimental::precision::u4>;
using Element = Either<kOperandBits == 1, wmma::experimental::precision::b1, Nibble>;
using FragmentA = wmma::fragment<wmma::matrix_a, kFrag, kFrag, kFragK, Element, wmma::row_major>;
using FragmentB = wmma::fragment<wmma::matrix_b, kFrag, kFrag, kFragK, Element, wmma::col_major>;
using FragmentC = wmma::fragment<wmma::accumulator, kFrag, kFrag, kFragK, int>;

template <typename C, typename A, typename B>
__device__ __forceinline__ void multiply(C& sums, const A& a, const B& b) {
  if constexpr (kOperandBits == 1) {
    wmma::bmma_sync(
        sums, a, b, sums, kOperandIsXor ? wmma::experimental::bmmaBitOpXOR : wmma::experimental::bmmaBitOpAND);
  } else {
    wmma::mma_sync(sums, a, b, sums);
  }
}

// Rows [x0, x0 + Rows) of op(A) or of op(B) transposed, from k0 on.
template <bool KOutermost, int Rows>
__device__ __forceinline__ void load_step(
    unsigned* to, const void* matrix, long long ld, int k0, int x0, int size_k, int size_x) {
  for (int e = int(threadIdx.x); e < Rows * kStepWords; e += kThreads) {
    const int row = e / kStepWords, word = e % kStepWords;
    to[row * kStrideWords + word] = elements_of<KOutermost, kOfWord>(
        static_cast<const Operand*>(matrix), ld, k0 + word * kOfWord, x0 + row, size_k, size_x);
  }
}

}  // namespace tilesmith

extern "C" __global__ void __launch_bounds__(tilesmith::kThreads)
    gemm(const __grid_constant__ tilesmith::GemmArgs args) {
  using namespace tilesmith;
  __shared__ __align__(128) unsigned a[kBlockM * kStrideWords];
  __shared__ __align__(128) unsigned b[kBlockN * kStrideWords];
  __shared__ __align__(128) int scratch[kWarps][kFrag * kFrag];

  const TileIndex block = tile_of_block<1>(blockIdx.x, (args.m - 1) / kBlockM + 1, (args.n - 1) / kBlockN + 1);
  const int m0 = block.m * kBlockM, n0 = block.n * kBlockN;
  const int warp = int(threadIdx.x / 32), lane = int(threadIdx.x % 32);
  const int warp_m = warp / kWarpsN * kFragsM * kFrag,
            warp_n = warp % kWarpsN * kFragsN * kFrag;  // within the block's tile

  FragmentC sums[kFragsM][kFragsN];
#pragma unroll
  for (int i = 0; i < kFragsM; ++i) {
#pragma unroll
    for (int j = 0; j < kFragsN; ++j) wmma::fill_fragment(sums[i][j], 0);
  }
  for (int k0 = 0; k0 < args.k; k0 += kSlabs * kFragK) {
    load_step<kTransA, kBlockM>(a, args.a, args.lda, k0, m0, args.k, args.m);
    load_step<!kTransB, kBlockN>(b, args.b, args.ldb, k0, n0, args.k, args.n);
    __syncthreads();
#pragma unroll
    for (int slab = 0; slab < kSlabs; ++slab) {
      FragmentA fa[kFragsM];
#pragma unroll
      for (int i = 0; i < kFragsM; ++i)
        wmma::load_matrix_sync(fa[i], a + (warp_m + i * kFrag) * kStrideWords + 4 * slab, kStrideWords * kOfWord);
#pragma unroll
      for (int j = 0; j < kFragsN; ++j) {
        FragmentB fb;
        wmma::load_matrix_sync(fb, b + (warp_n + j * kFrag) * kStrideWords + 4 * slab, kStrideWords * kOfWord);
#pragma unroll
        for (int i = 0; i < kFragsM; ++i) multiply(sums[i][j], fa[i], fb);
      }
    }
    __syncthreads();
  }

  const ScaleType alpha = scale_as<ScaleType>(args.alpha), beta = scale_as<ScaleType>(args.beta);
#pragma unroll
  for (int i = 0; i < kFragsM; ++i) {
#pragma unroll
    for (int j = 0; j < kFragsN; ++j) {
      wmma::store_matrix_sync(scratch[warp], sums[i][j], kFrag, wmma::mem_row_major);
      __syncwarp();
      for (int e = lane; e < kFrag * kFrag; e += 32) {
        const int m = m0 + warp_m + i * kFrag + e / kFrag, n = n0 + warp_n + j * kFrag + e % kFrag;
        if (m >= args.m || n >= args.n) continue;
        Output& out = static_cast<Output*>(args.d)[m * args.ldc + n];
        const int sum = scratch[warp][e];
        out = beta == ScaleType(0) ? linear<Output>(alpha, sum) : linear<Output>(alpha, sum, beta, out);
      }
      __syncwarp();
    }
  }
}
