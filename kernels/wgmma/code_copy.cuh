// What the copying warp fills the ring with for weights beside an A of 8 bits: codes in one box, A's tile in another.
//
// Tiles in copy.cuh copies codes block by block, a lane a block. The compiler makes a loop over lanes of that, and each
// block of 512 bytes takes 80 cycles: more than its products do.
#pragma once

#include "kernels/wgmma/copy.cuh"

namespace tilesmith {

// The codes of a tile, from row `row` and column `k` on: the map has the place within a block, the block along K and
// the strip of rows. What lies beyond N or K are zeros: their products are not stored, or multiplied by zeros of A.
__device__ __forceinline__ void copy_codes(unsigned tile, const TensorMap& map, int row, int k, unsigned full) {
  asm volatile(TILESMITH_BY_ONE("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                                "[%0], [%1, {%2, %3, %4}], [%5];")::"r"(tile),
               "l"(&map), "r"(0), "r"(k / kCodeColumns), "r"(row / kCodeBlockRows), "r"(full)
               : "memory");
}

class CodeTiles : public Tiles {
 public:
  __device__ __forceinline__ CodeTiles(const TensorGemmArgs& args, const WorkList& list, const ClusterPlace& cluster)
      : Tiles(args, list, cluster), args_(args), cluster_(cluster) {}

  __device__ __forceinline__ void copy(const Work& work, int k, unsigned stage, unsigned full) const {
    static_assert(!kHasWeights || (RightTile::kKMajor && kClusterM == 1), "blocks share rows of A alone");
    copy_codes(stage, args_.b, work.n0, k, full);
    const unsigned first = kClusterN == 1 ? 0 : cluster_.n * RightTile::kCopiedRows;
#pragma unroll
    for (int panel = 0; panel < RightTile::kPanels; ++panel) {
      copy_shared_box<false, kClusterN>(
          stage + LeftTile::kBytes + unsigned(panel * RightTile::kPanelBytes) + first * RightTile::kRowBytes, args_.a,
          RightTile::column(k) + panel * RightTile::kPanelCols, work.m0 + int(first), 0, full, (1u << kClusterN) - 1);
    }
  }

 private:
  const TensorGemmArgs& args_;
  const ClusterPlace& cluster_;
};

}  // namespace tilesmith
