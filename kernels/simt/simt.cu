// Family `simt`: C ← α·op(A)·op(B) + β·C on CUDA cores, for any type pair, layout, leading dimension and alignment.
//
//   block tile kBlockM × kBlockN, one thread owns kThreadM × kThreadN elements of C, spread over the block tile:
//
//     thread (ty, tx) of kThreadsM × kThreadsN owns rows ty + i·kThreadsM and columns tx + j·kThreadsN,
//     so that a warp's reads of B and writes of C are consecutive.
//
//   shared memory, one K-step of kBlockK:   a[k][m], b[k][n]     (k outermost: a step of the product reads rows)
//   8-bit integers are packed by four along K and multiplied with dp4a:   a[k / 4][m], b[k / 4][n]
//   those of 4 bits become such packs; bits are packed by 32, whose AND or XOR is counted:   a[k / 32][m], b[k / 32][n]
//
// Elements outside the matrices are loaded as zero; every load and store is one element wide, so nothing need be aligned.
#include "kernels/common/gemm_args.cuh"
#include "kernels/common/raster.cuh"
#include "kernels/common/scale.cuh"
#ifdef TILESMITH_EPILOGUE
#include "kernels/common/fused.cuh"
#endif
#ifdef TILESMITH_GATED
#include "kernels/common/gate.cuh"
#endif
#ifdef TILESMITH_SPARSE
#include "kernels/common/sparse_args.cuh"
#endif
#ifdef TILESMITH_SUB_BYTE
#include "kernels/simt/sub_byte.cuh"
#endif
#ifdef TILESMITH_WEIGHTS
#include "kernels/common/weights.cuh"
#endif

namespace tilesmith {

template <typename T> struct Arithmetic { using Stored = float; using Sum = float; static constexpr bool kPacked = false; };
template <> struct Arithmetic<double> { using Stored = double; using Sum = double; static constexpr bool kPacked = false; };
template <> struct Arithmetic<signed char> { using Stored = int; using Sum = int; static constexpr bool kPacked = true; };
template <> struct Arithmetic<unsigned char> { using Stored = unsigned; using Sum = int; static constexpr bool kPacked = true; };

constexpr bool kPacked = Arithmetic<Operand>::kPacked;
#ifdef TILESMITH_SUB_BYTE
constexpr int kPack = kOperandBits == 1 ? 32 : 4;  // of a word: bits, or bytes that dp4a takes
#else
constexpr int kPack = kPacked ? 4 : 1;
#endif
constexpr int kThreadsM = kBlockM / kThreadM;
constexpr int kThreadsN = kBlockN / kThreadN;
constexpr int kThreads = kThreadsM * kThreadsN;
constexpr int kStepRows = kBlockK / kPack;
// One word of padding: threads that fill a column of the tile then hit different banks.
constexpr int kStrideA = kBlockM + 1;
constexpr int kStrideB = kBlockN + 1;

static_assert(kBlockM % kThreadM == 0 && kBlockN % kThreadN == 0, "the block tile must split into thread tiles");
static_assert(kBlockK % kPack == 0, "a K-step of 8-bit integers must split into packs of four");
static_assert(kThreads <= 1024, "a block has at most 1024 threads");

using Stored = Arithmetic<Operand>::Stored;  // in shared memory: f32, f64, or four 8-bit integers
using Sum = Arithmetic<Operand>::Sum;

// The nearest tf32 (ties away from zero), as an f32 whose low 13 bits are zero.
__device__ __forceinline__ float rounded_to_tf32(float value) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return __uint_as_float(bits);
}

__device__ __forceinline__ Stored stored_of(Operand value) {
  if constexpr (kOperandIsTf32) {
    return rounded_to_tf32(float(value));
  } else {
    return Stored(value);
  }
}

// One multiply-add; of 8-bit operands four of them, signed or unsigned.
__device__ __forceinline__ void multiply_add(float& sum, float a, float b) { sum += a * b; }
__device__ __forceinline__ void multiply_add(double& sum, double a, double b) { sum += a * b; }
__device__ __forceinline__ void multiply_add(int& sum, int a, int b) { sum = __dp4a(a, b, sum); }
__device__ __forceinline__ void multiply_add(int& sum, unsigned a, unsigned b) {
#ifdef TILESMITH_SUB_BYTE
  if constexpr (kOperandBits == 1) {
    sum += __popc(kOperandIsXor ? a ^ b : a & b);
    return;
  }
#endif
  sum = int(__dp4a(a, b, unsigned(sum)));
}

// Element (k, x) of the operand, x along M or N, as stored [x][k] or, when KOutermost, [k][x].
template <bool KOutermost>
__device__ __forceinline__ Operand element(const Operand* matrix, long long ld, int k, int x, int size_k, int size_x) {
  if (k >= size_k || x >= size_x) return Operand(0);
  return KOutermost ? matrix[k * ld + x] : matrix[x * ld + k];
}

#ifdef TILESMITH_SUB_BYTE
// kPack elements as the multiplier takes them.
template <bool KOutermost>
__device__ __forceinline__ unsigned word_of(const Operand* matrix, long long ld, int k, int x, int size_k, int size_x) {
  const unsigned word = elements_of<KOutermost, kPack>(matrix, ld, k, x, size_k, size_x);
  if constexpr (kOperandBits == 1) return word;
  unsigned bytes = (word & 0xf) | (word & 0xf0) << 4 | (word & 0xf00) << 8 | (word & 0xf000) << 12;
  if (kOperandIsSigned) bytes |= (bytes & 0x08080808) * 0x1e;  // bit 3 in bits 4 to 7, too
  return bytes;
}
#endif

#ifdef TILESMITH_GATED
// A tile's first half holds x of as many pairs, the other half y: of thread_n columns that a thread owns half are x.
constexpr int kBlockPairs = kBlockN / 2;
static_assert(kThreadN % 2 == 0, "a thread must own x and y of its pairs");

// Fills shared[kStepRows][Stride] with the K-step of the pairs that start at pair0.
template <bool KOutermost, int Stride>
__device__ __forceinline__ void load_pairs(Stored* shared, const Operand* matrix, long long ld, int k0, int pair0, int size_k, int n) {
  for (int e = int(threadIdx.x); e < kStepRows * kBlockN; e += kThreads) {
    const int row = KOutermost ? e / kBlockN : e % kStepRows;
    const int at = KOutermost ? e % kBlockN : e / kStepRows;
    const int pair = pair0 + at % kBlockPairs;
    const int x = pair >= n / 2 ? n : at < kBlockPairs ? column_of_x(pair) : column_of_y(pair, n);
    const int k = k0 + row * kPack;
    if constexpr (kPacked) {
#ifdef TILESMITH_SUB_BYTE
      const unsigned pack = word_of<KOutermost>(matrix, ld, k, x, size_k, n);
#else
      unsigned pack = 0;
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        const Operand value = element<KOutermost>(matrix, ld, k + i, x, size_k, n);
        pack |= unsigned(static_cast<unsigned char>(value)) << (8 * i);
      }
#endif
      shared[row * Stride + at] = Stored(pack);
    } else {
      shared[row * Stride + at] = stored_of(element<KOutermost>(matrix, ld, k, x, size_k, n));
    }
  }
}
#endif

// Fills shared[kStepRows][Stride] with the K-step that starts at k0; consecutive threads walk the stored row.
template <bool KOutermost, int Width, int Stride>
__device__ __forceinline__ void load_step(Stored* shared, const Operand* matrix, long long ld, int k0, int x0,
                                          int size_k, int size_x) {
  for (int e = int(threadIdx.x); e < kStepRows * Width; e += kThreads) {
    const int row = KOutermost ? e / Width : e % kStepRows;
    const int x = KOutermost ? e % Width : e / kStepRows;
    const int k = k0 + row * kPack;
    if constexpr (kPacked) {
#ifdef TILESMITH_SUB_BYTE
      const unsigned pack = word_of<KOutermost>(matrix, ld, k, x0 + x, size_k, size_x);
#else
      unsigned pack = 0;
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        const Operand value = element<KOutermost>(matrix, ld, k + i, x0 + x, size_k, size_x);
        pack |= unsigned(static_cast<unsigned char>(value)) << (8 * i);
      }
#endif
      shared[row * Stride + x] = Stored(pack);
    } else {
      shared[row * Stride + x] = stored_of(element<KOutermost>(matrix, ld, k, x0 + x, size_k, size_x));
    }
  }
}

}  // namespace tilesmith

#ifdef TILESMITH_SPARSE
#include "kernels/simt/load_sparse.cuh"
#endif
#ifdef TILESMITH_WEIGHTS
#include "kernels/simt/load_weights.cuh"
#endif

#ifndef TILESMITH_BATCH
extern "C" __global__ void __launch_bounds__(tilesmith::kThreads)
gemm(const __grid_constant__ tilesmith::GemmArgs args) {
  using namespace tilesmith;
#else
#include "kernels/common/batch.cuh"
#ifdef TILESMITH_GROUPED
#include "kernels/common/grouped.cuh"
#endif

#ifdef TILESMITH_GROUPED
namespace tilesmith {
constexpr int kEntries = 1;
}
#endif

// The pointers of an entry take registers: where no number of blocks is asked for, the compiler spills for their sake.
extern "C" __global__ void __launch_bounds__(tilesmith::kThreads * tilesmith::kEntries, 1)
gemm(const __grid_constant__ tilesmith::GemmArgs batch) {
  using namespace tilesmith;
#ifndef TILESMITH_GROUPED
  // kEntries neighbours share a block, each has the threads of one y. Those without an entry are gone when the others meet at barriers.
  const unsigned entry = entry_of_grid() * kEntries + threadIdx.y;
  if (entry >= unsigned(batch.batch)) return;
  const GemmArgs args = matrices_of_entry(batch, entry);
#else
  GroupedRows<kBlockM, true> rows(batch);
  rows.read(fault_to_report(batch));
  const unsigned tiles_of_row = unsigned((batch.n - 1) / kBlockN + 1), tile_row = blockIdx.x / tiles_of_row;
  if (tile_row >= rows.count()) return;
  const GroupTiles tiles = rows.at(tile_row);
  const GemmArgs args = matrices_of_entry(batch, tiles.group);
#endif
#endif
#ifndef TILESMITH_BATCH
  __shared__ Stored shared_a[kStepRows * kStrideA];
  __shared__ Stored shared_b[kStepRows * kStrideB];
#else
  __shared__ Stored shared_of_entries_a[kEntries][kStepRows * kStrideA];
  __shared__ Stored shared_of_entries_b[kEntries][kStepRows * kStrideB];
  Stored* const shared_a = shared_of_entries_a[threadIdx.y];
  Stored* const shared_b = shared_of_entries_b[threadIdx.y];
#endif

#ifndef TILESMITH_GROUPED
  const int tiles_m = (args.m - 1) / kBlockM + 1;
  const int tiles_n = (args.n - 1) / kBlockN + 1;
  const TileIndex block = tile_of_block<1>(blockIdx.x, tiles_m, tiles_n);
  const int m0 = block.m * kBlockM;
  const int n0 = block.n * kBlockN;
#else
  const int m0 = tiles.first_row + int(tile_row - tiles.first) * kBlockM;
  const int n0 = int(blockIdx.x % tiles_of_row) * kBlockN;
#endif
  const int ty = int(threadIdx.x) / kThreadsN;
  const int tx = int(threadIdx.x) % kThreadsN;
  const Operand* a = static_cast<const Operand*>(args.a);
#ifndef TILESMITH_WEIGHTS
  const Operand* b = static_cast<const Operand*>(args.b);
#endif

  Sum sum[kThreadM][kThreadN] = {};
  for (int k0 = 0; k0 < args.k; k0 += kBlockK) {
#ifdef TILESMITH_SPARSE
    if constexpr (kSparseB) {
      load_step<kTransA, kBlockM, kStrideA>(shared_a, a, args.lda, k0, m0, args.k, args.m);
      load_sparse_step<kBlockN, kStrideB>(shared_b, b, args.ldb, sparse_of(args), k0, n0, args.k, args.n);
    } else {
      load_sparse_step<kBlockM, kStrideA>(shared_a, a, args.lda, sparse_of(args), k0, m0, args.k, args.m);
      load_step<!kTransB, kBlockN, kStrideB>(shared_b, b, args.ldb, k0, n0, args.k, args.n);
    }
#else
    load_step<kTransA, kBlockM, kStrideA>(shared_a, a, args.lda, k0, m0, args.k, args.m);
#ifdef TILESMITH_WEIGHTS
    load_weights(shared_b, args, k0, n0);
#else
#ifdef TILESMITH_GATED
    load_pairs<!kTransB, kStrideB>(shared_b, b, args.ldb, k0, n0 / 2, args.k, args.n);
#else
    load_step<!kTransB, kBlockN, kStrideB>(shared_b, b, args.ldb, k0, n0, args.k, args.n);
#endif
#endif
#endif
    __syncthreads();
#pragma unroll
    for (int row = 0; row < kStepRows; ++row) {
      Stored ra[kThreadM], rb[kThreadN];
#pragma unroll
      for (int i = 0; i < kThreadM; ++i) ra[i] = shared_a[row * kStrideA + ty + i * kThreadsM];
#pragma unroll
      for (int j = 0; j < kThreadN; ++j) rb[j] = shared_b[row * kStrideB + tx + j * kThreadsN];
#pragma unroll
      for (int i = 0; i < kThreadM; ++i) {
#pragma unroll
        for (int j = 0; j < kThreadN; ++j) multiply_add(sum[i][j], ra[i], rb[j]);
      }
    }
    __syncthreads();
  }

#ifdef TILESMITH_GATED
#pragma unroll
  for (int i = 0; i < kThreadM; ++i) {
    const int m = m0 + ty + i * kThreadsM;
    if (m >= args.m) continue;
#pragma unroll
    for (int j = 0; j < kThreadN / 2; ++j) {
      const int pair = n0 / 2 + tx + j * kThreadsN;
      if (pair >= args.n / 2) continue;
      static_cast<Output*>(args.d)[m * args.ldc + pair] = gated_output(args, m, pair, sum[i][j], sum[i][j + kThreadN / 2]);
    }
  }
#else
  const ScaleType alpha = scale_as<ScaleType>(args.alpha);
  const ScaleType beta = scale_as<ScaleType>(args.beta);
  Output* c = static_cast<Output*>(args.d);
#pragma unroll
  for (int i = 0; i < kThreadM; ++i) {
    const int m = m0 + ty + i * kThreadsM;
    if (m >= args.m) continue;
#pragma unroll
    for (int j = 0; j < kThreadN; ++j) {
      const int n = n0 + tx + j * kThreadsN;
      if (n >= args.n) continue;
      Output& out = c[m * args.ldc + n];
#ifdef TILESMITH_EPILOGUE
      out = fused_output(args, m, n, sum[i][j]);
#else
      out = beta == ScaleType(0) ? linear<Output>(alpha, sum[i][j]) : linear<Output>(alpha, sum[i][j], beta, out);
#endif
    }
  }
#endif
}
