// What the copying warp of the family `wgmma` fills the ring with (shared/load/step_copies.cuh), a block of a cluster
// also the rings of the others.
#pragma once

#include "kernels/shared/finish/paired_columns.cuh"
#include "kernels/wgmma/stage.cuh"
// It needs the size of a stage (stage.cuh).
#include "kernels/shared/load/step_copies.cuh"

namespace tilesmith {

constexpr int kReadingWarps = kTileGroups * 4 * kSharingBlocks;  // of a stage, in all blocks to which one copies

// A box of a matrix of the batch, to all blocks of the cluster that share it. Paired: the map has rows in the order of
// shared/finish/paired_columns.cuh.
template <bool Paired, int Sharers>
__device__ __forceinline__ void copy_shared_box(
    unsigned to, const TensorMap& map, int col, int row, int matrix, unsigned full, unsigned short blocks) {
  if constexpr (Paired && Sharers == 1) {
    copy_pairs(to, map, col, row / kPairedStep, matrix, full);
  } else if constexpr (Paired) {
    copy_pairs_to_blocks(to, map, col, row / kPairedStep, matrix, full, blocks);
  } else if constexpr (Sharers == 1) {
    copy_box(to, map, col, row, matrix, full);
  } else {
    copy_box_to_blocks(to, map, col, row, matrix, full, blocks);
  }
}

// The codes of a tile of weights, from row `row` and column `k` on, in one box: the map has the place within a block, the
// block along K and the strip of rows. What lies beyond N or K are zeros: their products are not stored, or multiplied by
// zeros of A.
__device__ __forceinline__ void copy_codes(unsigned tile, const TensorMap& map, int row, int k, unsigned full) {
  asm volatile(TILESMITH_BY_ONE("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                                "[%0], [%1, {%2, %3, %4}], [%5];")::"r"(tile),
               "l"(&map), "r"(0), "r"(k / kCodeColumns), "r"(row / kCodeBlockRows), "r"(full)
               : "memory");
}

// What the copying warp copies of the block's work items, the left operand's tile and the right one's.
class Tiles {
 public:
  __device__ __forceinline__ Tiles(const TensorGemmArgs& args, const WorkList& list, const ClusterPlace& cluster)
      : args_(args), list_(list), cluster_(cluster) {
    // The blocks of this one's row of the cluster (along N, sharing A) and of its column (sharing B).
    row_blocks_ = (unsigned short)(((1u << kClusterN) - 1) << cluster.m * kClusterN);
    column_blocks_ = 0;
#pragma unroll
    for (int m = 0; m < kClusterM; ++m) column_blocks_ |= (unsigned short)(1u << (m * kClusterN + cluster.n));
  }

  __device__ __forceinline__ unsigned first() const { return cluster_.first; }
  __device__ __forceinline__ unsigned step() const { return cluster_.step; }
  __device__ __forceinline__ unsigned count() const { return list_.count(); }
  // In every other round all persistent blocks go through K backwards, so that they begin with what the L2 still holds
  // of the round before. Steps then lie at -k, from the last one's up to 0. Weights cannot: their scales are fetched
  // step by step.
  __device__ __forceinline__ ItemWork at(unsigned item) const {
    ItemWork work = cluster_.place(list_.at(item));
    if (!kHasWeights && kPersistent && item / cluster_.step % 2 != 0) {
      work.k0 = -(work.steps() - 1) * kNextStep;
      work.k = 1;
    }
    return work;
  }
  __device__ __forceinline__ unsigned step_bytes() const {
    if constexpr (!kIsSparse) return kStageBytes;
    return unsigned(kMetadataAt +
                    kMetadataSteps * min(kMetadataRowBlocks, sparse_of(args_.gemm).row_blocks) * (kMetadataWords * 4));
  }

  __device__ __forceinline__ void copy(const Work& work, int step_k, unsigned stage, unsigned full) const {
    const int k = step_k < 0 ? -step_k : step_k;
    const int of_a = matrix(work, args_.gemm.stride_a), of_b = matrix(work, args_.gemm.stride_b);
    constexpr bool kRightFirst = kIsGated && kSwap != 0;  // gated kernels were measured with A's tile before B's
    if constexpr (kRightFirst) copy_tile<false, RightTile>(stage + LeftTile::kBytes, work, k, of_a, full);
    if constexpr (kHasWeights) {
      copy_codes(stage, args_.b, work.n0, k, full);
    } else {
      copy_tile<kSwap != 0, LeftTile>(stage, work, k, kSwap ? of_b : of_a, full);
    }
    if constexpr (!kRightFirst)
      copy_tile<kSwap == 0, RightTile>(stage + LeftTile::kBytes, work, k, kSwap ? of_a : of_b, full);
    if constexpr (kIsSparse) copy_metadata(kSwap ? work.n0 : work.m0, k, stage + unsigned(kMetadataAt), full);
  }

 private:
  // Which matrix of a batch; with a stride of 0 all entries read one.
  static __device__ __forceinline__ int matrix(const Work& work, long long stride) {
    return !kIsBatched || stride == 0 ? 0 : int(work.entry);
  }

  // The rows of A's or B's panels that this block copies to all that share the tile.
  template <bool IsB, typename Tile>
  __device__ __forceinline__ void copy_tile(unsigned tile, const Work& work, int k, int matrix, unsigned full) const {
    constexpr int kSharers = IsB ? kClusterM : kClusterN;
    constexpr bool kPaired = IsB && kIsGated && (kPack & 2) == 0;  // packed ones are in that order already
    static_assert(!kPaired || (Tile::kKMajor && Tile::kCopiedRows % kPairedStep == 0),
        "blocks must copy whole steps of rows along K");
    const int extent0 = IsB ? work.n0 : work.m0, col = Tile::kKMajor ? Tile::column(k) : extent0,
              row = Tile::kKMajor ? extent0 : k;
    const TensorMap& map = IsB ? args_.b : args_.a;
    const unsigned first = kSharers == 1 ? 0 : (IsB ? cluster_.m : cluster_.n) * Tile::kCopiedRows;
#pragma unroll
    for (int panel = 0; panel < Tile::kPanels; ++panel) {
      copy_shared_box<kPaired, kSharers>(tile + unsigned(panel * Tile::kPanelBytes) + first * Tile::kRowBytes, map,
                                         col + panel * Tile::kPanelCols, row + int(first), matrix, full,
                                         IsB ? column_blocks_ : row_blocks_);
    }
  }

  // Beyond the end of K there are no metadata and the elements are zeros, so any metadata will do. Each block of a
  // cluster copies its own.
  __device__ __forceinline__ void copy_metadata(int left0, int k, unsigned to, unsigned full) const {
    const SparseArgs sparse = sparse_of(args_.gemm);
    const TileMetadata blocks(sparse, left0);
    const unsigned bytes = unsigned(blocks.count) * (kMetadataWords * 4);
#pragma unroll
    for (int i = 0; i < kMetadataSteps; ++i) {
      const int k_block = min(k / kMetadataBlockK + i, sparse.k_blocks - 1);
      const long long word = ((long long)k_block * sparse.row_blocks + blocks.first) * kMetadataWords;
      copy_bytes(to + unsigned(i) * bytes, static_cast<const unsigned*>(sparse.metadata) + word, bytes, full);
    }
  }

  const TensorGemmArgs& args_;
  const WorkList& list_;
  const ClusterPlace& cluster_;
  unsigned short row_blocks_, column_blocks_;
};

}  // namespace tilesmith
