// K-steps by the tensor memory accelerator (TMA). A warp of its own, beside those that multiply, starts the copies of
// whole tiles, in boxes of at most 128 bytes a row; the hardware swizzles them as SwizzledTile says and puts zeros
// where a box lies outside the matrix. The ring's barriers (shared/load/ring.cuh) take the place of __syncthreads().
#pragma once

#include "kernels/mma/step_copy.cuh"
#include "kernels/shared/load/step_copies.cuh"  // behind what says how large a stage is: tile.cuh

namespace tilesmith {

// What a block computes, one item after the other.
using WorkList = WorkListOf<kBlockM, kBlockN>;

// Of all items of this block.
__device__ __forceinline__ int steps_of_block(const WorkList& list) {
  const int steps = list.at(blockIdx.x).steps();
  static_assert(!kPersistent || kSplitK == 1, "all items of a persistent block must have as many steps");
  return kPersistent ? int((list.count() - blockIdx.x - 1) / gridDim.x + 1) * steps : steps;
}

// A tile of the matrix, or of one of a batch, from (row, col) on, panel by panel.
template <typename Tile>
__device__ __forceinline__ void copy_tile(
    unsigned tile, const TensorMap& map, int col, int row, int matrix, unsigned full) {
#pragma unroll
  for (int panel = 0; panel < Tile::kPanels; ++panel) {
    copy_box(tile + unsigned(panel * Tile::kPanelBytes), map, col + panel * Tile::kStride, row, matrix, full);
  }
}

// Which matrix of a batch an entry reads; 0 where all entries read one, and without a batch.
template <typename Entry>
__device__ __forceinline__ int matrix_of(const Entry& entry, long long stride) {
  if constexpr (kIsBatched) return stride == 0 ? 0 : int(entry);
  return 0;
}

// What the copying warp copies of the block's work items (shared/load/step_copies.cuh).
class TensorTiles {
 public:
  __device__ __forceinline__ TensorTiles(const TensorGemmArgs& args, const WorkList& list) : args_(args), list_(list) {}

  __device__ __forceinline__ unsigned first() const { return blockIdx.x; }
  __device__ __forceinline__ unsigned step() const { return gridDim.x; }
  __device__ __forceinline__ unsigned count() const { return list_.count(); }
  __device__ __forceinline__ Work at(unsigned item) const { return list_.at(item); }

  __device__ __forceinline__ void copy(const Work& work, int k, unsigned stage, unsigned full) const {
    const unsigned b = stage + kElementsOfA * kElementBytes;
    copy_tile<TileA>(stage, args_.a, kAKMajor ? k : work.m0, kAKMajor ? work.m0 : k,
                     matrix_of(work.entry, args_.gemm.stride_a), full);
    const int of_b = matrix_of(work.entry, args_.gemm.stride_b);
    if constexpr (kPairsRows) {
#pragma unroll
      for (int panel = 0; panel < TileB::kPanels; ++panel) {
        copy_pairs(b + unsigned(panel * TileB::kPanelBytes), args_.b, k + panel * TileB::kStride, work.n0 / kPairedStep,
                   of_b, full);
      }
    } else {
      copy_tile<TileB>(b, args_.b, kBKMajor ? k : work.n0, kBKMajor ? work.n0 : k, of_b, full);
    }
  }

 private:
  const TensorGemmArgs& args_;
  const WorkList& list_;
};

// Without tensor maps all warps copy (step_writer.cuh), and no thread for them.
struct NoTiles {
  __device__ __forceinline__ NoTiles(const GemmArgs&, const WorkList&) {}
};
__device__ __forceinline__ void start_first_copies(const Ring&, const NoTiles&) {}
__device__ __forceinline__ void go_on_copying(const Ring&, const NoTiles&) {}
__device__ __forceinline__ void prefetch_maps(const GemmArgs&) {}

using Tiles = Either<kTma != 0, TensorTiles, NoTiles>;

}  // namespace tilesmith
