// K-steps by the tensor memory accelerator (TMA): one thread of a block starts a copy of whole tiles, in boxes of at most 128
// bytes a row; the hardware swizzles them as SwizzledTile says and puts zeros where a box lies outside the matrix.
//
// Two barriers a stage take the place of __syncthreads(), so that warps need not keep in step. `full` counts the bytes that
// arrive: from this block's copies and from those of its cluster. `free` counts the warps, of all blocks of the cluster, that
// no longer read the stage: whoever writes into it waits for all.
#pragma once

#include "kernels/mma/cluster.cuh"
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

// An arrival at the same barrier of a block of the cluster.
__device__ __forceinline__ void arrive_at(unsigned barrier, unsigned rank) {
  asm volatile(
      "{ .reg .b32 theirs; mapa.shared::cluster.u32 theirs, %0, %1;"
      " mbarrier.arrive.release.cluster.shared::cluster.b64 _, [theirs]; }" ::"r"(barrier), "r"(rank)
      : "memory");
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

template <bool Multicast>
__device__ __forceinline__ void copy_box(unsigned to, const TensorMap& map, int col, int row, unsigned full,
                                         unsigned short blocks) {
  if constexpr (Multicast) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
        " [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to), "l"(&map), "r"(col), "r"(row), "r"(full), "h"(blocks)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
        "l"(&map), "r"(col), "r"(row), "r"(full)
        : "memory");
  }
}

// This block's share of a tile: rows [share · Rows / Blocks, ...), of every panel of columns, to all of `blocks`.
template <typename Tile, int Blocks>
__device__ __forceinline__ void copy_share(unsigned tile, const TensorMap& map, int col, int row, int share, unsigned full,
                                           unsigned short blocks) {
  constexpr int kRows = Tile::kRows / Blocks;
  static_assert(Tile::kRows % (8 * Blocks) == 0, "a share must hold whole periods of the swizzle");
#pragma unroll
  for (int panel = 0; panel < Tile::kPanels; ++panel) {
    const unsigned to = tile + unsigned(panel * Tile::kPanelBytes + share * kRows * Tile::kStrideBytes);
    copy_box<(Blocks > 1)>(to, map, col + panel * Tile::kStride, row + share * kRows, full, blocks);
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
        init_barrier(free_ + stage * 8, unsigned(warps * kClusterTiles));
      }
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    if constexpr (kClusterTiles > 1) {
      cluster_barrier();  // the others' copies arrive at these barriers
    } else {
      __syncthreads();
    }
  }

  // Starts the copies of the stream's next step: a step of `work`.
  __device__ __forceinline__ void fill(const Work& work, int k) {
    ++filled_;
    if (threadIdx.x == 0) {
      if (filled_ > kStages) wait_phase(free_ + write_.stage * 8, write_.parity ^ 1);
      const unsigned full = full_ + write_.stage * 8, stage = ring_ + unsigned(write_.stage * kStageBytes);
      expect_bytes(full, kStageBytes);
      copy_share<LeftTile, kClusterN>(stage, args_.a, kLeftKMajor ? k : work.m0, kLeftKMajor ? work.m0 : k, place_.n, full,
                                      place_.row_mask());
      copy_share<RightTile, kClusterM>(stage + kLeftElements * int(sizeof(Operand)), args_.b, kRightKMajor ? k : work.n0,
                                       kRightKMajor ? work.n0 : k, place_.m, full, place_.column_mask());
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
    const unsigned barrier = free_ + release_ * 8, lane = threadIdx.x % 32;
    __syncwarp();
    if constexpr (kClusterTiles > 1) {
      if (lane < kClusterTiles) arrive_at(barrier, lane);
    } else {
      if (lane == 0) arrive(barrier);
    }
    release_ = release_ == kStages - 1 ? 0 : release_ + 1;
  }

 private:
  const TensorGemmArgs& args_;
  ClusterPlace place_;
  unsigned ring_, full_, free_;  // shared memory
  RingPlace write_, read_;
  unsigned release_ = 0;          // the stage to be released next
  int filled_ = 0, waited_ = 0;  // steps
};

}  // namespace tilesmith
