// K-steps by the tensor memory accelerator (TMA). A warp of its own, beside those that multiply, starts the copies of whole
// tiles, in boxes of at most 128 bytes a row; the hardware swizzles them as SwizzledTile says and puts zeros where a box lies
// outside the matrix. The ring's barriers (tensor_core/ring.cuh) take the place of __syncthreads().
#pragma once

#include "kernels/mma/tile.cuh"
#include "kernels/tensor_core/either.cuh"
#include "kernels/tensor_core/work.cuh"
// It wants to know how large a stage is (tile.cuh).
#include "kernels/tensor_core/step_copies.cuh"

namespace tilesmith {

// What a block computes, one item after the other.
using WorkList = WorkListOf<kBlockM, kBlockN>;

// Of all items of this block.
__device__ __forceinline__ int steps_of_block(const WorkList& list) {
  const int steps = list.at(blockIdx.x).steps();
  static_assert(!kPersistent || kSplitK == 1, "all items of a persistent block must have as many steps");
  return kPersistent ? int((list.count() - blockIdx.x - 1) / gridDim.x + 1) * steps : steps;
}

#ifndef TILESMITH_BATCH
// A tile of the matrix from (row, col) on, panel by panel.
template <typename Tile>
__device__ __forceinline__ void copy_tile(unsigned tile, const TensorMap& map, int col, int row, unsigned full) {
#pragma unroll
  for (int panel = 0; panel < Tile::kPanels; ++panel) {
    copy_box(tile + unsigned(panel * Tile::kPanelBytes), map, col + panel * Tile::kStride, row, full);
  }
}
#else
// A tile of one of the matrices from (row, col) on, panel by panel.
template <typename Tile>
__device__ __forceinline__ void copy_tile(unsigned tile, const TensorMap& map, int col, int row, int matrix, unsigned full) {
#pragma unroll
  for (int panel = 0; panel < Tile::kPanels; ++panel) {
    copy_box(tile + unsigned(panel * Tile::kPanelBytes), map, col + panel * Tile::kStride, row, matrix, full);
  }
}
#endif

// What the copying warp copies of the block's work items (tensor_core/step_copies.cuh).
class TensorTiles {
 public:
  __device__ __forceinline__ TensorTiles(const TensorGemmArgs& args, const WorkList& list) : args_(args), list_(list) {}

  __device__ __forceinline__ unsigned first() const { return blockIdx.x; }
  __device__ __forceinline__ unsigned step() const { return gridDim.x; }
  __device__ __forceinline__ unsigned count() const { return list_.count(); }
  __device__ __forceinline__ Work at(unsigned item) const { return list_.at(item); }

#ifdef TILESMITH_GATED
  __device__ __forceinline__ void copy(const Work& work, int k, unsigned stage, unsigned full) const {
    const unsigned b = stage + kElementsOfA * int(sizeof(Operand));
#ifdef TILESMITH_BATCH
    const GemmArgs& of = args_.gemm;
    const int of_b = of.stride_b == 0 ? 0 : work.entry;
    copy_tile<TileA>(stage, args_.a, kAKMajor ? k : work.m0, kAKMajor ? work.m0 : k, of.stride_a == 0 ? 0 : work.entry, full);
    if constexpr ((kPack & 2) != 0) return copy_tile<TileB>(b, args_.b, k, work.n0, of_b, full);
#else
    const int of_b = 0;
    copy_tile<TileA>(stage, args_.a, kAKMajor ? k : work.m0, kAKMajor ? work.m0 : k, full);
    if constexpr ((kPack & 2) != 0) return copy_tile<TileB>(b, args_.b, k, work.n0, full);
#endif
#pragma unroll
    for (int panel = 0; panel < TileB::kPanels; ++panel)
      copy_pairs(b + unsigned(panel * TileB::kPanelBytes), args_.b, k + panel * TileB::kStride, work.n0 / kPairedStep, of_b, full);
  }
#else
  __device__ __forceinline__ void copy(const Work& work, int k, unsigned stage, unsigned full) const {
#ifndef TILESMITH_BATCH
    copy_tile<TileA>(stage, args_.a, kAKMajor ? k : work.m0, kAKMajor ? work.m0 : k, full);
    copy_tile<TileB>(stage + kElementsOfA * int(sizeof(Operand)), args_.b, kBKMajor ? k : work.n0,
                     kBKMajor ? work.n0 : k, full);
#else
    const GemmArgs& of = args_.gemm;
    copy_tile<TileA>(stage, args_.a, kAKMajor ? k : work.m0, kAKMajor ? work.m0 : k, of.stride_a == 0 ? 0 : work.entry, full);
    copy_tile<TileB>(stage + kElementsOfA * int(sizeof(Operand)), args_.b, kBKMajor ? k : work.n0,
                     kBKMajor ? work.n0 : k, of.stride_b == 0 ? 0 : work.entry, full);
#endif
  }
#endif

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
