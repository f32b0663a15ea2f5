// Family `wmma`: C ← α·op(A)·op(B) + β·C with nvcuda::wmma fragments.
//
// Who owns what
//
//          ← kBlockN = kWarpsN × kWarpTileN →
//        ┌──────────────┬──────────────┐  ↑        one warp's tile
//        │ warp 0       │ warp 1       │ kBlockM   ┌────┬────┬────┐  ↑
//        ├──────────────┼──────────────┤           │frag│frag│frag│ kFragsM × kFragM
//        │ warp 2       │ warp 3       │           ├────┼────┼────┤
//        └──────────────┴──────────────┘  ↓        │    │    │    │  ↓
//                                                  └────┴────┴────┘
//                                                  ← kFragsN × kFragN →
//
// kStages = 0: every fragment is read straight from global memory; those that cross the matrix' edge go through a
// small zero-filled scratch tile of their warp.
// kStages ≥ 1: the block's K-step of A and B is staged in shared memory, in the orientation in which it is stored in
// global memory (so no transposition ever happens; the fragment's layout does it):
//
//   stage s │ A: N [kBlockM][kBlockK + pad]  or T [kBlockK][kBlockM + pad] │ B: N [kBlockK][kBlockN + pad] or T [..]
//
// From two stages up the copies are asynchronous and kStages − 1 of them are in flight while one is multiplied:
//
//   copy    s0 s1 s2 │ s3   s4   s5
//   multiply         │ s0   s1   s2   ...      one barrier a step
//
// Afterwards the same shared memory holds each warp's scratch for the epilogue.
#include "kernels/shared/work/raster.cuh"
#include "kernels/wmma/epilogue.cuh"
#include "kernels/wmma/operands.cuh"

extern "C" __global__ void __launch_bounds__(tilesmith::kThreads, tilesmith::kMinBlocks)
gemm(const __grid_constant__ tilesmith::GemmArgs args) {
  using namespace tilesmith;
  extern __shared__ __align__(128) unsigned char shared[];

  const int tiles_m = (args.m - 1) / kBlockM + 1;
  const int tiles_n = (args.n - 1) / kBlockN + 1;
  const TileIndex block = tile_of_block<kGroupM>(blockIdx.x, tiles_m, tiles_n);
  const int warp = int(threadIdx.x / 32);
  const int warp_m0 = (warp / kWarpsN) * kWarpTileM;  // within the block's tile
  const int warp_n0 = (warp % kWarpsN) * kWarpTileN;
  const int block_m0 = block.m * kBlockM;
  const int block_n0 = block.n * kBlockN;
  unsigned char* scratch = shared + warp * kScratchBytes;

  WarpTile tile;
  tile.clear();
  if constexpr (kStaged) {
    accumulate_staged(tile, args, block_m0, block_n0, warp_m0, warp_n0, reinterpret_cast<Operand*>(shared));
  } else {
    accumulate_from_global(tile, args, block_m0 + warp_m0, block_n0 + warp_n0, reinterpret_cast<Operand*>(scratch));
  }
  store(tile, args, block_m0 + warp_m0, block_n0 + warp_n0, reinterpret_cast<Accumulator*>(scratch));
}
