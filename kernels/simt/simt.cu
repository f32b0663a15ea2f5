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
// Elements outside the matrices are loaded as zero; every load and store is one element wide, so nothing need be
// aligned.
#include "kernels/shared/work/batch.cuh"
#include "kernels/shared/finish/gate.cuh"
#include "kernels/shared/work/grouped.cuh"
#include "kernels/shared/work/raster.cuh"
#include "kernels/simt/operands.cuh"
#include "kernels/shared/either.cuh"

namespace tilesmith {

constexpr int kThreadsM = kBlockM / kThreadM;
constexpr int kThreadsN = kBlockN / kThreadN;
constexpr int kThreads = kThreadsM * kThreadsN;
constexpr int kStepRows = kBlockK / kPack;
// One word of padding: threads that fill a column of the tile then hit different banks.
constexpr int kStrideA = kBlockM + 1;
constexpr int kStrideB = kBlockN + 1;

static_assert(kBlockM % kThreadM == 0 && kBlockN % kThreadN == 0, "the block tile must split into thread tiles");
static_assert(kBlockK % kPack == 0, "a K-step must split into words");
static_assert(kThreads <= 1024, "a block has at most 1024 threads");
constexpr int kColumns = kIsGated ? kThreadN / 2 : kThreadN;  // of D, that a thread owns
static_assert(!kIsGated || kThreadN % 2 == 0, "a thread must own both columns of a pair");

// One multiply-add; of 8-bit operands four of them, signed or unsigned, and of bits 32.
__device__ __forceinline__ void multiply_add(float& sum, float a, float b) { sum += a * b; }
__device__ __forceinline__ void multiply_add(double& sum, double a, double b) { sum += a * b; }
__device__ __forceinline__ void multiply_add(int& sum, int a, int b) { sum = __dp4a(a, b, sum); }
__device__ __forceinline__ void multiply_add(int& sum, unsigned a, unsigned b) {
  if constexpr (kOperandBits == 1) {
    sum += __popc(kOperandIsXor ? a ^ b : a & b);
  } else {
    sum = int(__dp4a(a, b, unsigned(sum)));
  }
}

// Which tile of C the block computes, and of which entry or group. If `exists` is false, there is none for this thread.
// origin() is the tile's first row and column; it takes the entry's arguments.
template <bool Grouped>
struct BlockTile {
  GridEntry entry;
  bool exists;

  // A block has kEntries neighbouring entries, each with the threads of one y.
  __device__ __forceinline__ explicit BlockTile(const GemmArgs& all) {
    entry = GridEntry(entry_of_grid() * kEntries + threadIdx.y);
    exists = !kIsBatched || unsigned(entry) < unsigned(all.batch);
  }
  __device__ __forceinline__ TileIndex origin(const GemmArgs& args) const {
    const int tiles_m = (args.m - 1) / kBlockM + 1, tiles_n = (args.n - 1) / kBlockN + 1;
    const TileIndex tile = tile_of_block<1>(blockIdx.x, tiles_m, tiles_n);
    return {tile.m * kBlockM, tile.n * kBlockN};
  }
};
template <>
struct BlockTile<true> {
  Group entry;
  bool exists;
  int m0, n0;

  __device__ __forceinline__ TileIndex origin(const GemmArgs&) const { return {m0, n0}; }
  __device__ __forceinline__ explicit BlockTile(const GemmArgs& all) {
    GroupedRows<kBlockM, true> rows(all);
    rows.read(fault_to_report(all));
    const unsigned tiles_of_row = unsigned((all.n - 1) / kBlockN + 1), tile_row = blockIdx.x / tiles_of_row;
    exists = tile_row < rows.count();
    if (!exists) return;
    const GroupTiles tiles = rows.at(tile_row);
    entry = tiles.group;
    m0 = tiles.first_row + int(tile_row - tiles.first) * kBlockM;
    n0 = int(blockIdx.x % tiles_of_row) * kBlockN;
  }
};

// Which column of op(B) is column `at` of the block's tile. A gate's tile has x of kBlockN / 2 pairs in its first half
// and y in its second, so that a thread has both of a pair.
__device__ __forceinline__ int column_at(const GemmArgs& args, int n0, int at) {
  if constexpr (!kIsGated) return n0 + at;
  const int pair = n0 / 2 + at % (kBlockN / 2);
  return pair >= args.n / 2 ? args.n : at < kBlockN / 2 ? column_of_x(pair) : column_of_y(pair, args.n);
}

// Fills shared[kStepRows][Stride] with the K-step that starts at k0. x_at says which row or column of the operand is
// one of the tile.
template <int Width, int Stride, typename From, typename At>
__device__ __forceinline__ void load_step(Factor* shared, const From& from, int k0, const At& x_at) {
  for (int e = int(threadIdx.x); e < kStepRows * Width; e += kThreads) {
    const int row = From::kKOutermost ? e / Width : e % kStepRows;
    const int at = From::kKOutermost ? e % Width : e / kStepRows;
    shared[row * Stride + at] = from.read(k0 + row * kPack, x_at(at));
  }
}

}  // namespace tilesmith

// For batches a number of blocks is asked for: without one the compiler spills for the sake of an entry's pointers.
extern "C" __global__ void __launch_bounds__(tilesmith::kThreads * tilesmith::kEntries, tilesmith::kIsBatched ? 1 : 0)
gemm(const __grid_constant__ tilesmith::GemmArgs all) {
  using namespace tilesmith;
  __shared__ Factor shared_of_entries_a[kEntries][kStepRows * kStrideA];
  __shared__ Factor shared_of_entries_b[kEntries][kStepRows * kStrideB];

  const BlockTile<kIsGrouped> tile(all);
  if (!tile.exists) return;  // an exited thread does not hold up the others at barriers
  const auto& args = operands_of_entry(all, tile.entry);
  Factor* const shared_a = shared_of_entries_a[kIsBatched ? threadIdx.y : 0];
  Factor* const shared_b = shared_of_entries_b[kIsBatched ? threadIdx.y : 0];
  const TileIndex origin = tile.origin(args);
  const int ty = int(threadIdx.x) / kThreadsN;
  const int tx = int(threadIdx.x) % kThreadsN;

  Sum sum[kThreadM][kThreadN] = {};
  for (int k0 = 0; k0 < args.k; k0 += kBlockK) {
    load_step<kBlockM, kStrideA>(
        shared_a, operand_a(all, args, int(tile.entry)), k0, [&](int at) { return origin.m + at; });
    load_step<kBlockN, kStrideB>(
        shared_b, operand_b(all, args, int(tile.entry)), k0, [&](int at) { return column_at(args, origin.n, at); });
    __syncthreads();
#pragma unroll
    for (int row = 0; row < kStepRows; ++row) {
      Factor ra[kThreadM], rb[kThreadN];
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

  const ScaleType alpha = scale_as<ScaleType>(args.alpha);
  const ScaleType beta = scale_as<ScaleType>(args.beta);
  Output* d = static_cast<Output*>(args.d);
#pragma unroll
  for (int i = 0; i < kThreadM; ++i) {
    const int m = origin.m + ty + i * kThreadsM;
    if (m >= args.m) continue;
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      const int n = (kIsGated ? origin.n / 2 : origin.n) + tx + j * kThreadsN;
      if (n >= (kIsGated ? args.n / 2 : args.n)) continue;
      Output& out = d[m * args.ldc + n];
      if constexpr (kIsGated) {
        out = gated_output(args, m, n, sum[i][j], sum[i][j + kColumns]);
      } else if constexpr (kHasEpilogue) {
        out = fused_output(args, m, n, sum[i][j]);
      } else {
        out = beta == ScaleType(0) ? linear<Output>(alpha, sum[i][j]) : linear<Output>(alpha, sum[i][j], beta, out);
      }
    }
  }
}
