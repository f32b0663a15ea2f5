// K-steps by the tensor memory accelerator (TMA): one thread of a block starts a copy of whole tiles, in boxes of at most 128
// bytes a row; the hardware swizzles them as SwizzledTile says and puts zeros where a box lies outside the matrix.
//
// Two barriers a stage take the place of __syncthreads(), so that warps need not keep in step. `full` counts the bytes that
// arrive; `free` counts the warps that no longer read the stage.
#pragma once

#include "kernels/mma/tensor_args.cuh"
#include "kernels/mma/tile.cuh"
#include "kernels/mma/work.cuh"

namespace tilesmith {

constexpr int kRingBytes = kStages * kStageBytes;
constexpr int kBarrierBytes = kTma ? 2 * kStages * 8 : 0;

__device__ __forceinline__ void init_barrier(unsigned barrier, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

// The one arrival of a `full` barrier's phase, and how many bytes are to come.
__device__ __forceinline__ void expect_bytes(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ __forceinline__ void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Waits for the end of the phase of that parity; phases are numbered from 0.
__device__ __forceinline__ void wait_phase(unsigned barrier, unsigned parity) {
  unsigned done = 0;
  while (done == 0) {
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  }
}

// A tile of the matrix from (row, col) on, panel by panel.
template <typename Tile>
__device__ __forceinline__ void copy_tile(unsigned tile, const TensorMap& map, int col, int row, unsigned full) {
#pragma unroll
  for (int panel = 0; panel < Tile::kPanels; ++panel) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            tile + unsigned(panel * Tile::kPanelBytes)),
        "l"(&map), "r"(col + panel * Tile::kStride), "r"(row), "r"(full)
        : "memory");
  }
}

// A place in the ring of stages, and the parity of the phase in which it is filled there.
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

// The ring's barriers, and what this block knows of them. All threads call all functions.
class TensorRing {
 public:
  // Steps between a step's copy and its use. A stage is not refilled at once, but a step after the copying thread read it: by
  // then the other warps have most often read it too.
  static constexpr int kAhead = kStages - 2;
  static_assert(!kTma || kAhead >= 1, "a copy must be under way while another is read");

  __device__ __forceinline__ TensorRing(const TensorGemmArgs& args, Operand* shared, const void* barriers, int warps)
      : args_(args), ring_(shared_address(shared)), full_(shared_address(barriers)), free_(full_ + kStages * 8) {
    if (threadIdx.x == 0) {
      for (int stage = 0; stage < kStages; ++stage) {
        init_barrier(full_ + stage * 8, 1);
        init_barrier(free_ + stage * 8, unsigned(warps));
      }
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
  }

  // Starts the copies of the stream's next step: a step of `work`.
  __device__ __forceinline__ void fill(const Work& work, int k) {
    ++filled_;
    if (threadIdx.x == 0) {
      if (filled_ > kStages) wait_phase(free_ + write_.stage * 8, write_.parity ^ 1);
      const unsigned full = full_ + write_.stage * 8, stage = ring_ + unsigned(write_.stage * kStageBytes);
      expect_bytes(full, kStageBytes);
      copy_tile<LeftTile>(stage, args_.a, kLeftKMajor ? k : work.m0, kLeftKMajor ? work.m0 : k, full);
      copy_tile<RightTile>(stage + kLeftElements * int(sizeof(Operand)), args_.b, kRightKMajor ? k : work.n0,
                           kRightKMajor ? work.n0 : k, full);
    }
    write_.next();
  }

  // Waits for the oldest step that was not yet waited for, if there is one.
  __device__ __forceinline__ void wait_for_step() {
    if (waited_ == filled_) return;
    ++waited_;
    wait_phase(full_ + read_.stage * 8, read_.parity);
    read_.next();
  }

  // This warp has read all that it reads of the oldest step that it has not yet released.
  __device__ __forceinline__ void release() {
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(free_ + release_ * 8);
    release_ = release_ == kStages - 1 ? 0 : release_ + 1;
  }

 private:
  const TensorGemmArgs& args_;
  unsigned ring_, full_, free_;  // shared memory
  RingPlace write_, read_;
  unsigned release_ = 0;          // the stage to be released next
  int filled_ = 0, waited_ = 0;  // steps
};

}  // namespace tilesmith
