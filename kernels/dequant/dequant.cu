// Family `dequant`: D ← α·op(A)·op(B) + β·C where B is weights of 4 or 8 bits (kernels/problem/weights.hpp), which
// become numbers of A's type in registers, on their way into mma.sync.
//
//   weights ──cp.async──▶ shared, as they lie ──16 bytes a lane──▶ codes ──▶ left operand (16 rows of W)  ┐
//   A       ──cp.async──▶ shared, swizzled    ──ldmatrix─────────▶ right operand (8 rows of A)            ┴─mma─▶ Dᵀ in 16 × 8
//   scales  ──cp.async──▶ shared
//
// W is the left operand, so that 8 rows of A are no waste, and the layout of weights is the order of its fragments.
//
//            ← kBlockN rows of W →         a step of K: kWarpsK × kWarpColumns
//           ┌────────┬────────┐            ┌─────────┬─────────┐
//   kBlockM │ warp 0 │ warp 1 │            │ warps 0 │ warps 2 │   warps along N have rows of W, and all rows of A; warps along K have
//   of A    │        │        │            │ and 1   │ and 3   │   columns of the step, and their sums meet in shared memory
//           └────────┴────────┘            └─────────┴─────────┘
//
// A block has one tile and one slice of K. copy.cuh fills the ring of stages, shared/multiply/codes.cuh makes numbers
// of codes, store.cuh adds what warps and slices hold.
#include "kernels/shared/work/overlap.cuh"
#include "kernels/dequant/main_loop.cuh"
#include "kernels/dequant/store.cuh"

extern "C" __global__ void __launch_bounds__(tilesmith::kThreads, tilesmith::kMinBlocks)
    gemm(const __grid_constant__ tilesmith::GemmArgs all) {
  using namespace tilesmith;
  extern __shared__ __align__(128) unsigned char shared[];
  let_launch_after_come();
  if constexpr (kIsGrouped) wait_for_stream();
  const BlockTile<kIsGrouped> tile(all);
  if (!tile.exists) return;
  const auto& args = operands_of_entry(all, tile.entry);
  const Place place(args, tile);
  if constexpr (!kIsGrouped) {
    ask_for_weights(args, place);
    wait_for_stream();
  }
  WarpSums sums;
  accumulate(sums, args, place, shared);
  store(sums, args, place, reinterpret_cast<float*>(shared));
}

extern "C" __global__ void __launch_bounds__(tilesmith::kPassThreads)
    sum_slices(const __grid_constant__ tilesmith::GemmArgs args) {
  tilesmith::let_stream_come();
  tilesmith::wait_for_launch_before();
  tilesmith::sum_slices(args);
}
