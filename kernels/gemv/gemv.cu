// Family `gemv`: C ← α·op(A)·op(B) + β·C where C is one row or one column, as fast as memory gives the one large
// operand.
//
//   outputs = matrix · vector        kMatrix = 1: M = 1, the matrix is B, the vector A       (task.cuh)
//                                    kMatrix = 0: N = 1, the matrix is A, the vector B
//
// Every load of the matrix is a chunk of 16 bytes. kLanes threads side by side read kLanes chunks of a row; every
// thread has kRows × kUnroll of them in flight. The vector goes through shared memory, a panel at a time, as it lies in
// memory.
//
//   along (along.cuh): a row of the matrix lies along K         across (across.cuh): a row lies across the outputs
//
//              K →                                                         outputs →
//            ┌ lanes ┬ lanes ┬ lanes ─┐                              ┌ tile ─┬ tile ─┬──────┐
//   group 0  │ u = 0 │ u = 1 │ ...    │ → output 0             K   0 │ lanes │       │      │  stream 0, u = 0
//   group 1  │       │       │        │ → output 1             ↓   1 │ lanes │       │      │  stream 1, u = 0
//   ...      ├───────┴───────┴────────┤                            . │       │       │      │
//   group 0  │ its second of kRows    │                            S │ lanes │       │      │  stream 0, u = 1
//            └────────────────────────┘                              └───────┴───────┴──────┘
//   A row's kLanes threads add their sums by shuffles.          The kLanes threads of a stream hold the sums of the tile's
//                                                               columns; streams are added by shuffles, then by warps.
//
// What warps hold of the same outputs meets in shared memory, what slices of K hold (kSplitK blocks) in the shared
// memory of a cluster or in the workspace, always in the same order (store.cuh).
//
// Entries of a batch have a slice of the grid's y and z each (kernels/shared/work/batch.cuh).
//
// Rows that do not start at 16-byte steps (kShifted): chunks start at 16-byte steps all the same, `shift` elements
// before the row or the tile, and what lies outside the row counts as zero. The shift differs from row to row, but it
// is the same in every P-th row, P = 16 / gcd(16, bytes of a row): a block (along) or a warp (across) keeps to rows of
// one shift.
#include "kernels/shared/work/batch.cuh"
#include "kernels/shared/work/overlap.cuh"
#include "kernels/gemv/across.cuh"
#include "kernels/gemv/along.cuh"
#include "kernels/gemv/store.cuh"

namespace tilesmith {

constexpr int kSharedBytes = kPanelBytes + kParts * kOutputs * int(sizeof(Sum));

// The block's tile of C.
constexpr int kBlockM = kMatrixIsB ? 1 : kOutputs;
constexpr int kBlockN = kMatrixIsB ? kOutputs : 1;

// The arguments of an entry, with its own sums of slices.
__device__ __forceinline__ const GemmArgs& args_of_entry(const GemmArgs& args, NoEntry) { return args; }
__device__ __forceinline__ GemmArgs args_of_entry(const GemmArgs& batch, unsigned entry) {
  GemmArgs args = matrices_of_entry(batch, entry);
  if constexpr (kWorkspaceSums)
    args.workspace =
        static_cast<Sum*>(batch.workspace) + entry * (kSplitK * static_cast<long long>(kMatrixIsB ? batch.n : batch.m));
  return args;
}

// For 128 registers a thread: where no number of blocks is asked for, the compiler keeps to 64 and spills.
constexpr int kMinBlocks = kIsBatched || kWholeF32 ? 512 / kThreads : 0;

}  // namespace tilesmith

extern "C" __global__ void __launch_bounds__(tilesmith::kThreads, tilesmith::kMinBlocks)
    gemm(const __grid_constant__ tilesmith::GemmArgs all) {
  using namespace tilesmith;
  extern __shared__ __align__(16) unsigned char shared[];
  Bits* panel = reinterpret_cast<Bits*>(shared);
  Sum* partials = reinterpret_cast<Sum*>(shared + kPanelBytes);  // [kParts, kOutputs]

  let_launch_after_come();
  wait_for_stream();
  if (is_beyond_batch(all)) return;  // with all blocks of its cluster
  const auto& args = args_of_entry(all, entry_of_grid());
  const Task task(args);
  const Tile tile(task, int(blockIdx.x) / kSplitK);
  const int slice = int(blockIdx.x) % kSplitK;
  if constexpr (kAlong) {
    sum_along(task, tile, slice, panel, partials);
  } else {
    sum_across(task, tile, slice, panel, partials);
  }
  __syncthreads();
  store(args, task, tile, slice, partials);
}

extern "C" __global__ void __launch_bounds__(tilesmith::kPassThreads)
    sum_slices(const __grid_constant__ tilesmith::GemmArgs all) {
  tilesmith::let_stream_come();
  tilesmith::wait_for_launch_before();
  if (!tilesmith::is_beyond_batch(all))
    tilesmith::sum_slices(tilesmith::args_of_entry(all, tilesmith::entry_of_grid()));
}
