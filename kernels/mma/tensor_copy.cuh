// K-steps by the tensor memory accelerator (TMA). A warp of its own, beside those that multiply, starts the copies of whole
// tiles, in boxes of at most 128 bytes a row; the hardware swizzles them as SwizzledTile says and puts zeros where a box lies
// outside the matrix.
//
// Two barriers a stage take the place of __syncthreads(): `full` counts the bytes that arrive, `free` the warps that no longer
// read the stage. The copying warp is as many steps ahead as there are free stages, over the end of a work item too.
#pragma once

#include "kernels/mma/tile.cuh"
#include "kernels/tensor_core/barrier.cuh"
#include "kernels/tensor_core/work.cuh"

namespace tilesmith {

constexpr int kRingBytes = kStages * kStageBytes;
constexpr int kBarrierBytes = kTma ? 2 * kStages * 8 : 0;

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

// The ring of stages and its barriers, in shared memory.
struct Ring {
  unsigned stages, full, free;

  __device__ __forceinline__ Ring(const Operand* shared, const void* barriers)
      : stages(shared_address(shared)), full(shared_address(barriers)), free(full + kStages * 8) {}

  // By one thread, before any other use; all others wait for it.
  __device__ __forceinline__ void init(unsigned reading_warps) const {
    for (int stage = 0; stage < kStages; ++stage) {
      init_barrier(full + stage * 8, 1);
      init_barrier(free + stage * 8, reading_warps);
    }
    publish_barriers();
  }
};

// A place in the ring, and the parity of the phase in which it is filled there.
struct RingPlace {
  int stage = 0;
  unsigned parity = 0;

  __device__ __forceinline__ void next() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

// Copies all steps of the block's work items, each as soon as its stage is free. By one thread.
__device__ __forceinline__ void copy_all_steps(const Ring& ring, const TensorGemmArgs& args, const WorkList& list) {
  if (args.gemm.k > 0) {
    prefetch_map(args.a);
    prefetch_map(args.b);
  }
  RingPlace place;
  for (unsigned item = blockIdx.x; item < list.count(); item += gridDim.x) {
    const Work work = list.at(item);
    for (int k = work.k0; k < work.k_end; k += kBlockK) {
      const unsigned full = ring.full + place.stage * 8, stage = ring.stages + unsigned(place.stage * kStageBytes);
      wait_phase(ring.free + place.stage * 8, place.parity ^ 1);
      expect_bytes(full, kStageBytes);
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

// What a multiplying warp knows of the ring.
class RingReader {
 public:
  __device__ __forceinline__ RingReader(const Ring& ring, int steps)
      : full_(ring.full), free_(ring.free), left_(steps) {}

  // Waits for the oldest step that was not yet waited for, if there is one.
  __device__ __forceinline__ void wait_for_step() {
    if (left_ == 0) return;
    --left_;
    wait_phase(full_ + place_.stage * 8, place_.parity);
    place_.next();
  }

  // This warp has read all that it reads of the oldest step that it has not yet released.
  __device__ __forceinline__ void release() {
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(free_ + release_ * 8);
    release_ = release_ == kStages - 1 ? 0 : release_ + 1;
  }

 private:
  unsigned full_, free_;
  RingPlace place_;
  unsigned release_ = 0;  // the stage to be released next
  int left_;              // steps
};

}  // namespace tilesmith
