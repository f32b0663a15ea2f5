// What the copying warp of the family `wgmma` fills the ring with (tensor_core/step_copies.cuh), a block of a cluster also the
// rings of the others.
#pragma once

#include "kernels/wgmma/stage.cuh"
// It wants to know how large a stage is (stage.cuh).
#include "kernels/tensor_core/step_copies.cuh"

namespace tilesmith {

constexpr int kReadingWarps = kTileGroups * 4 * kSharingBlocks;  // of a stage, in all blocks to which one copies

#ifdef TILESMITH_SPARSE
}  // namespace tilesmith

#include "kernels/wgmma/sparse_copy.cuh"

namespace tilesmith {
#else
// A panel's rows that this block copies, panel by panel, to all that share the tile.
//   (col, row) of the tile in its matrix; `part` of `Sharers`
template <typename Tile, int Sharers>
#ifndef TILESMITH_BATCH
__device__ __forceinline__ void copy_tile(unsigned tile, const TensorMap& map, int col, int row, unsigned full,
                                          unsigned part, unsigned short blocks) {
#else
__device__ __forceinline__ void copy_tile(unsigned tile, const TensorMap& map, int col, int row, int matrix, unsigned full,
                                          unsigned part, unsigned short blocks) {
#endif
#ifdef TILESMITH_THREE_PRODUCTS
  if constexpr (Tile::kSplit) col *= 2;
#endif
  const unsigned first = Sharers == 1 ? 0 : part * Tile::kCopiedRows;
#pragma unroll
  for (int panel = 0; panel < Tile::kPanels; ++panel) {
    const unsigned to = tile + unsigned(panel * Tile::kPanelBytes) + first * kPanelRowBytes;
#ifndef TILESMITH_BATCH
    if constexpr (Sharers == 1) {
      copy_box(to, map, col + panel * kPanelElements, row, full);
    } else {
      copy_box_to_blocks(to, map, col + panel * kPanelElements, row + int(first), full, blocks);
    }
#else
    if constexpr (Sharers == 1) {
      copy_box(to, map, col + panel * kPanelElements, row, matrix, full);
    } else {
      copy_box_to_blocks(to, map, col + panel * kPanelElements, row + int(first), matrix, full, blocks);
    }
#endif
  }
}

#ifdef TILESMITH_WEIGHTS
// By a warp: the blocks of weights of a tile, a lane a block, from row `row` and column `k` on. Of those beyond N or K the last ones instead:
// what becomes of them is not stored, or multiplied by zeros of A.
__device__ __forceinline__ void copy_weights(unsigned tile, const GemmArgs& args, int row, int k, unsigned full) {
  const int blocks_of_strip = (args.k + kCodeColumns - 1) / kCodeColumns, strips = (args.n + kCodeBlockRows - 1) / kCodeBlockRows;
#pragma unroll
  for (int first = 0; first < LeftTile::kStrips * LeftTile::kBlocks; first += 32) {
    const int i = first + int(threadIdx.x % 32);
    if (i >= LeftTile::kStrips * LeftTile::kBlocks) break;
    const int strip = min(row / kCodeBlockRows + i / LeftTile::kBlocks, strips - 1);
    const int block = min(k / kCodeColumns + i % LeftTile::kBlocks, blocks_of_strip - 1);
    const void* const from =
        static_cast<const unsigned char*>(args.b) + (static_cast<long long>(strip) * blocks_of_strip + block) * kCodeBlockBytes;
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(tile + i * kCodeBlockBytes),
                 "l"(from), "n"(kCodeBlockBytes), "r"(full)
                 : "memory");
  }
  __syncwarp();
}
#endif

#ifdef TILESMITH_GATED
// The same of B, whose rows stand in the order of tensor_core/paired_columns.cuh: in its packed copy, or since the map has it so.
template <typename Tile>
__device__ __forceinline__ void copy_b(unsigned tile, const TensorMap& map, int k, int row, int matrix, unsigned full, unsigned part,
                                       unsigned short blocks) {
  if constexpr ((kPack & 2) != 0) {
#ifdef TILESMITH_BATCH
    copy_tile<Tile, kClusterM>(tile, map, k, row, matrix, full, part, blocks);
#else
    copy_tile<Tile, kClusterM>(tile, map, k, row, full, part, blocks);
#endif
  } else {
    static_assert(Tile::kKMajor && Tile::kCopiedRows % kPairedStep == 0, "blocks must copy whole steps of rows along K");
    const unsigned first = kClusterM == 1 ? 0 : part * Tile::kCopiedRows;
#pragma unroll
    for (int panel = 0; panel < Tile::kPanels; ++panel) {
      const unsigned to = tile + unsigned(panel * Tile::kPanelBytes) + first * kPanelRowBytes;
      if constexpr (kClusterM == 1) {
        copy_pairs(to, map, k + panel * kPanelElements, row / kPairedStep, matrix, full);
      } else {
        copy_pairs_to_blocks(to, map, k + panel * kPanelElements, (row + int(first)) / kPairedStep, matrix, full, blocks);
      }
    }
  }
}
#endif

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
  // In every other round all persistent blocks go through K backwards, and so begin with what the L2 holds of the round before: its
  // steps are at -k, from that of the last one up to 0. Not where scales of weights follow the steps.
  __device__ __forceinline__ ItemWork at(unsigned item) const {
    ItemWork work = cluster_.place(list_.at(item));
#ifndef TILESMITH_WEIGHTS
    if (kPersistent && item / cluster_.step % 2 != 0) {
      work.k0 = -(work.steps() - 1) * kNextStep;
      work.k = 1;
    }
#endif
    return work;
  }

  __device__ __forceinline__ void copy(const Work& work, int step_k, unsigned stage, unsigned full) const {
    const int k = step_k < 0 ? -step_k : step_k;
#ifdef TILESMITH_GATED
    using TileOfA = Either<kSwap != 0, RightTile, LeftTile>;
    using TileOfB = Either<kSwap != 0, LeftTile, RightTile>;
    const unsigned a = stage + (kSwap ? LeftTile::kBytes : 0), b = stage + (kSwap ? 0 : LeftTile::kBytes);
    const int col = TileOfA::kKMajor ? k : work.m0, row = TileOfA::kKMajor ? work.m0 : k;
#ifdef TILESMITH_BATCH
    const GemmArgs& of = args_.gemm;
    const int of_b = of.stride_b == 0 ? 0 : work.entry;
    copy_tile<TileOfA, kClusterN>(a, args_.a, col, row, of.stride_a == 0 ? 0 : work.entry, full, cluster_.n, row_blocks_);
#else
    const int of_b = 0;
    copy_tile<TileOfA, kClusterN>(a, args_.a, col, row, full, cluster_.n, row_blocks_);
#endif
    copy_b<TileOfB>(b, args_.b, k, work.n0, of_b, full, cluster_.m, column_blocks_);
#else
    const int left0 = kSwap ? work.n0 : work.m0, right0 = kSwap ? work.m0 : work.n0;
#ifndef TILESMITH_BATCH
#ifdef TILESMITH_WEIGHTS
    copy_weights(stage, args_.gemm, left0, k, full);
#else
    copy_tile<LeftTile, kLeftSharers>(stage, kSwap ? args_.b : args_.a, LeftTile::kKMajor ? k : left0,
                                      LeftTile::kKMajor ? left0 : k, full, kSwap ? cluster_.m : cluster_.n,
                                      kSwap ? column_blocks_ : row_blocks_);
#endif
    copy_tile<RightTile, kRightSharers>(stage + LeftTile::kBytes, kSwap ? args_.a : args_.b,
                                        RightTile::kKMajor ? k : right0, RightTile::kKMajor ? right0 : k, full,
                                        kSwap ? cluster_.n : cluster_.m, kSwap ? row_blocks_ : column_blocks_);
#else
    const GemmArgs& of = args_.gemm;
    const int of_a = of.stride_a == 0 ? 0 : work.entry, of_b = of.stride_b == 0 ? 0 : work.entry;
    copy_tile<LeftTile, kLeftSharers>(stage, kSwap ? args_.b : args_.a, LeftTile::kKMajor ? k : left0,
                                      LeftTile::kKMajor ? left0 : k, kSwap ? of_b : of_a, full,
                                      kSwap ? cluster_.m : cluster_.n, kSwap ? column_blocks_ : row_blocks_);
    copy_tile<RightTile, kRightSharers>(stage + LeftTile::kBytes, kSwap ? args_.a : args_.b,
                                        RightTile::kKMajor ? k : right0, RightTile::kKMajor ? right0 : k,
                                        kSwap ? of_a : of_b, full, kSwap ? cluster_.n : cluster_.m,
                                        kSwap ? row_blocks_ : column_blocks_);
#endif
#endif
  }

 private:
  const TensorGemmArgs& args_;
  const WorkList& list_;
  const ClusterPlace& cluster_;
  unsigned short row_blocks_, column_blocks_;
};
#endif

}  // namespace tilesmith
