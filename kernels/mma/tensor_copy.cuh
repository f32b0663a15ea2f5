// K-steps by the tensor memory accelerator (TMA). A warp of its own, beside those that multiply, starts the copies of whole
// tiles, in boxes of at most 128 bytes a row; the hardware swizzles them as SwizzledTile says and puts zeros where a box lies
// outside the matrix. The ring's barriers (tensor_core/ring.cuh) take the place of __syncthreads().
#pragma once

#include "kernels/mma/tile.cuh"
#include "kernels/tensor_core/work.cuh"
// It wants to know how large a stage is (tile.cuh).
#include "kernels/tensor_core/ring.cuh"

namespace tilesmith {

// What a block computes, one item after the other.
using WorkList = WorkListOf<kBlockM, kBlockN>;

// Of all items of this block.
__device__ __forceinline__ int steps_of_block(const WorkList& list) {
  const int steps = list.at(blockIdx.x).steps();
  static_assert(!kPersistent || kSplitK == 1, "all items of a persistent block must have as many steps");
  return kPersistent ? int((list.count() - blockIdx.x - 1) / gridDim.x + 1) * steps : steps;
}

// A tile of the matrix from (row, col) on, panel by panel.
template <typename Tile>
__device__ __forceinline__ void copy_tile(unsigned tile, const TensorMap& map, int col, int row, unsigned full) {
#pragma unroll
  for (int panel = 0; panel < Tile::kPanels; ++panel) {
    copy_box(tile + unsigned(panel * Tile::kPanelBytes), map, col + panel * Tile::kStride, row, full);
  }
}

// Copies all steps of the block's work items, each as soon as its stage is free. By one thread.
__device__ __forceinline__ void copy_all_steps(const Ring& ring, const TensorGemmArgs& args, const WorkList& list) {
  prefetch_maps(args);
  RingPlace place;
  for (unsigned item = blockIdx.x; item < list.count(); item += gridDim.x) {
    const Work work = list.at(item);
    for (int k = work.k0; k < work.k; k += kNextStep) {
      const unsigned full = ring.full_at(place), stage = ring.stage_at(place);
      ring.wait_until_free(place);
      ring.expect_step(place);
      copy_tile<LeftTile>(stage, args.a, kLeftKMajor ? k : work.m0, kLeftKMajor ? work.m0 : k, full);
      copy_tile<RightTile>(stage + kLeftElements * int(sizeof(Operand)), args.b, kRightKMajor ? k : work.n0,
                           kRightKMajor ? work.n0 : k, full);
      place.next();
    }
    if constexpr (!kPersistent) break;
  }
}

// Without tensor maps all warps copy (step_writer.cuh).
__device__ __forceinline__ void copy_all_steps(const Ring&, const GemmArgs&, const WorkList&) {}

}  // namespace tilesmith
