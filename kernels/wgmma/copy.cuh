// The copying warp of the family `wgmma`: fills the ring (tensor_core/ring.cuh), a block of a cluster also those of the others.
#pragma once

#include "kernels/wgmma/stage.cuh"
// It wants to know how large a stage is (stage.cuh).
#include "kernels/tensor_core/ring.cuh"

namespace tilesmith {

constexpr int kReadingWarps = kTileGroups * 4 * kSharingBlocks;  // of a stage, in all blocks to which one copies

// A panel's rows that this block copies, panel by panel, to all that share the tile.
//   (col, row) of the tile in its matrix; `part` of `Sharers`
template <typename Tile, int Sharers>
__device__ __forceinline__ void copy_tile(unsigned tile, const TensorMap& map, int col, int row, unsigned full,
                                          unsigned part, unsigned short blocks) {
  const unsigned first = Sharers == 1 ? 0 : part * Tile::kCopiedRows;
#pragma unroll
  for (int panel = 0; panel < Tile::kPanels; ++panel) {
    const unsigned to = tile + unsigned(panel * Tile::kPanelBytes) + first * kPanelRowBytes;
    if constexpr (Sharers == 1) {
      copy_box(to, map, col + panel * kPanelElements, row, full);
    } else {
      copy_box_to_blocks(to, map, col + panel * kPanelElements, row + int(first), full, blocks);
    }
  }
}

// Copies all steps of the block's work items, each as soon as its stage is free. By one thread.
__device__ __forceinline__ void copy_all_steps(const Ring& ring, const TensorGemmArgs& args, const WorkList& list,
                                               const ClusterPlace& cluster) {
  const TensorMap &left = kSwap ? args.b : args.a, &right = kSwap ? args.a : args.b;
  // The blocks of this one's row of the cluster (along N, sharing A) and of its column (sharing B).
  const unsigned short row_blocks = (unsigned short)(((1u << kClusterN) - 1) << cluster.m * kClusterN);
  unsigned short column_blocks = 0;
#pragma unroll
  for (int m = 0; m < kClusterM; ++m) column_blocks |= (unsigned short)(1u << (m * kClusterN + cluster.n));

  RingPlace place;
  for (unsigned item = cluster.first; item < list.count(); item += cluster.step) {
    const Work work = cluster.place(list.at(item));
    const int left0 = kSwap ? work.n0 : work.m0, right0 = kSwap ? work.m0 : work.n0;
    for (int k = work.k0; k < work.k; k += kNextStep) {
      const unsigned full = ring.full_at(place), stage = ring.stage_at(place);
      ring.wait_until_free(place);
      ring.expect_step(place);
      copy_tile<LeftTile, kLeftSharers>(stage, left, LeftTile::kKMajor ? k : left0, LeftTile::kKMajor ? left0 : k, full,
                                        kSwap ? cluster.m : cluster.n, kSwap ? column_blocks : row_blocks);
      copy_tile<RightTile, kRightSharers>(stage + LeftTile::kBytes, right, RightTile::kKMajor ? k : right0,
                                          RightTile::kKMajor ? right0 : k, full, kSwap ? cluster.n : cluster.m,
                                          kSwap ? row_blocks : column_blocks);
      place.next();
    }
    if constexpr (!kPersistent) break;
  }
  if constexpr (kSharingBlocks > 1) {
    // The block must not end while others still tell it what they have read. (What they copy into it, it waits for itself.)
    for (int stage = 0; stage < kStages; ++stage) {
      ring.wait_until_free(place);
      place.next();
    }
  }
}

}  // namespace tilesmith
