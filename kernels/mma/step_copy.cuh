// The copies of a K-step by all threads of the block: both operands' tiles and the metadata of a 2:4 sparse one.
#pragma once

#include "kernels/shared/multiply/sparse_args.cuh"
#include "kernels/mma/paired_rows.cuh"
#include "kernels/mma/skewed.cuh"
#include "kernels/mma/warps.cuh"
#include "kernels/shared/work/work.cuh"

namespace tilesmith {

// A gated epilogue needs B's rows in the order of paired_columns.cuh. The packing pass puts them in that order, or
// else the copies do.
constexpr bool kPairsRows = kIsGated && (kPack & 2) == 0;
static_assert(!kIsGated || kBKMajor, "rows of B must run along K");
static_assert(!kSkewed || !kPairsRows, "skewed rows are copied in their order");

template <typename Tile, int Share, typename Order = RowsInOrder>
using TileWriter = Either<kSkewed, SkewedCopy<Tile, kMultiplyingThreads, !Tile::kKMajor, kNextStep / Share>,
    TileCopy<Operand, Tile, kCopyBytes, kMultiplyingThreads, true, !Tile::kKMajor, kNextStep / Share, Order>>;

// Copies metadata, 16 bytes a thread at a time; a block of 16 rows × 16 groups has 8 such chunks.
class MetadataCopy {
  static constexpr int kChunks = kMetadataBytes / 16;
  static constexpr int kChunksOfRow = kMetadataRowBlocks * 8;

 public:
  __device__ __forceinline__ MetadataCopy(const GemmArgs& args, const Work& work) : sparse_(sparse_of(args)) {
    row_block_ = (kSwap ? work.n0 : work.m0) / kMetadataRows;
    k_block_ = work.k0 / metadata_block_k(kElementBytes);
  }

  // Beyond M or N, and beyond K, elements are zeros and there are no metadata: any will do.
  __device__ __forceinline__ void step(unsigned char* to) {
#pragma unroll
    for (int first = 0; first < kChunks; first += kMultiplyingThreads) {
      const int chunk = first + int(threadIdx.x);
      if (kChunks % kMultiplyingThreads != 0 && chunk >= kChunks) break;
      const int k_block = min(k_block_ + chunk / kChunksOfRow, sparse_.k_blocks - 1);
      const int row_block = min(row_block_ + chunk % kChunksOfRow / 8, sparse_.row_blocks - 1);
      const long long block = static_cast<long long>(k_block) * sparse_.row_blocks + row_block;
      const unsigned char* from = static_cast<const unsigned char*>(sparse_.metadata) + block * (kMetadataWords * 4);
      async_copy_whole<16>(to + chunk * 16, from + chunk % 8 * 16, true);
    }
    k_block_ += kNextStep / metadata_block_k(kElementBytes);
  }

 private:
  SparseArgs sparse_;
  int row_block_, k_block_;  // the step's first
};

struct NoMetadata {
  __device__ __forceinline__ NoMetadata(const GemmArgs&, const Work&) {}
  __device__ __forceinline__ void step(unsigned char*) {}
};

// The block's copies, one K-step after the other.
struct StepCopy {
  TileWriter<TileA, kShareA> a;
  TileWriter<TileB, kShareB, Either<kPairsRows, PairedRows, RowsInOrder>> b;
  Either<kIsSparse, MetadataCopy, NoMetadata> metadata;

  __device__ __forceinline__ StepCopy(const GemmArgs& args, const Work& work)
      : StepCopy(args_of_entry(args, work.entry), work, 0) {}

  // How many steps, from the first on, can be copied as next<true>.
  static __device__ __forceinline__ int whole_steps(const GemmArgs& args, const Work& work) {
    const bool whole = decltype(a)::splits_whole(work.m0, args.m) && decltype(b)::splits_whole(work.n0, args.n);
    return whole && work.k - work.k0 >= kBlockK ? (work.k - work.k0 - kBlockK) / kNextStep + 1 : 0;
  }

  template <bool Whole>
  __device__ __forceinline__ void next(Operand* stage) {
    a.template step<Whole>(stage);
    b.template step<Whole>(stage + kElementsOfA);
    metadata.step(reinterpret_cast<unsigned char*>(stage) + kMetadataAt);
  }

 private:
  // `args`: the entry's.
  __device__ __forceinline__ StepCopy(const GemmArgs& args, const Work& work, int)
      : a(static_cast<const Operand*>(args.a), args.lda, kAKMajor ? work.m0 : work.k0,
          kAKMajor ? work.k0 / kShareA : work.m0, kAKMajor ? args.m : work.k, kAKMajor ? work.k / kShareA : args.m),
        b(static_cast<const Operand*>(args.b), args.ldb, kBKMajor ? work.n0 : work.k0,
          kBKMajor ? work.k0 / kShareB : work.n0, kBKMajor ? (kPairsRows ? args.n : tiled_columns(args)) : work.k,
          kBKMajor ? work.k / kShareB : args.n),
        metadata(args, work) {}
};

}  // namespace tilesmith
