// The ring of stages that the copying warp fills and the warpgroups read.
//
// Two barriers a stage: `full` counts the bytes that arrive, `free` the warps that no longer read it, those of all blocks of the
// cluster to which this block copies. The copying thread runs ahead as far as there are free stages, over the end of a work
// item too.
#pragma once

#include "kernels/tensor_core/barrier.cuh"
#include "kernels/wgmma/stage.cuh"

namespace tilesmith {

constexpr int kRingBytes = kStages * kStageBytes;
constexpr int kBarrierBytes = 2 * kStages * 8;
constexpr int kReadingWarps = kTileGroups * 4;  // of a block, of one stage

struct Ring {
  unsigned stages, full, free;  // addresses

  __device__ __forceinline__ Ring(unsigned shared, unsigned barriers)
      : stages(shared), full(barriers), free(barriers + kStages * 8) {}

  // By one thread, before any other use; all others wait for it.
  __device__ __forceinline__ void init() const {
    for (int stage = 0; stage < kStages; ++stage) {
      init_barrier(full + stage * 8, 1);
      init_barrier(free + stage * 8, kReadingWarps * kSharingBlocks);
    }
    publish_barriers();
  }
};

// A place in the ring, and the parity of the phase in which it is filled there.
struct RingPlace {
  int stage = 0;
  unsigned parity = 0;

  __device__ __forceinline__ void next() { advance(1); }
  __device__ __forceinline__ void advance(int steps) {
    stage += steps;
    if (stage < kStages) return;
    const int rounds = steps == 1 ? 1 : stage / kStages;
    stage -= rounds * kStages;
    parity ^= unsigned(rounds) & 1;
  }
};

// A panel's rows that this block copies, panel by panel, to all that share the tile.
//   (col, row) of the tile in its matrix; `part` of `Sharers`
template <typename Tile, int Sharers>
__device__ __forceinline__ void copy_tile(unsigned tile, const TensorMap& map, int col, int row, unsigned full,
                                          unsigned part, unsigned short blocks) {
  const unsigned first = Sharers == 1 ? 0 : part * Tile::kCopiedRows;
#pragma unroll
  for (int panel = 0; panel < Tile::kPanels; ++panel) {
    const unsigned to = tile + unsigned(panel * Tile::kPanelBytes) + first * kPanelRowBytes;
    if constexpr (Sharers == 1) {
      copy_box(to, map, col + panel * kPanelElements, row, full);
    } else {
      copy_box_to_blocks(to, map, col + panel * kPanelElements, row + int(first), full, blocks);
    }
  }
}

// Reading a map takes as long as reading memory.
__device__ __forceinline__ void prefetch_maps(const TensorGemmArgs& args) {
  if (args.gemm.k == 0) return;  // they are unset
  prefetch_map(args.a);
  prefetch_map(args.b);
}

// Copies all steps of the block's work items, each as soon as its stage is free. By one thread.
__device__ __forceinline__ void copy_all_steps(const Ring& ring, const TensorGemmArgs& args, const WorkList& list,
                                               const ClusterPlace& cluster) {
  const TensorMap &left = kSwap ? args.b : args.a, &right = kSwap ? args.a : args.b;
  // The blocks of this one's row of the cluster (along N, sharing A) and of its column (sharing B).
  const unsigned short row_blocks = (unsigned short)(((1u << kClusterN) - 1) << cluster.m * kClusterN);
  unsigned short column_blocks = 0;
#pragma unroll
  for (int m = 0; m < kClusterM; ++m) column_blocks |= (unsigned short)(1u << (m * kClusterN + cluster.n));

  RingPlace place;
  for (unsigned item = cluster.first; item < list.count(); item += cluster.step) {
    const Work work = cluster.place(list.at(item));
    const int left0 = kSwap ? work.n0 : work.m0, right0 = kSwap ? work.m0 : work.n0;
    for (int k = work.k0; k < work.k_end; k += kBlockK) {
      const unsigned full = ring.full + place.stage * 8, stage = ring.stages + unsigned(place.stage * kStageBytes);
      wait_phase(ring.free + place.stage * 8, place.parity ^ 1);
      expect_bytes(full, kStageBytes);
      copy_tile<LeftTile, kLeftSharers>(stage, left, LeftTile::kKMajor ? k : left0, LeftTile::kKMajor ? left0 : k, full,
                                        kSwap ? cluster.m : cluster.n, kSwap ? column_blocks : row_blocks);
      copy_tile<RightTile, kRightSharers>(stage + LeftTile::kBytes, right, RightTile::kKMajor ? k : right0,
                                          RightTile::kKMajor ? right0 : k, full, kSwap ? cluster.n : cluster.m,
                                          kSwap ? row_blocks : column_blocks);
      place.next();
    }
    if constexpr (!kPersistent) break;
  }
  if constexpr (kSharingBlocks > 1) {
    // The block must not end while others still tell it what they have read. (What they copy into it, it waits for itself.)
    for (int stage = 0; stage < kStages; ++stage) {
      wait_phase(ring.free + place.stage * 8, place.parity ^ 1);
      place.next();
    }
  }
}

// What a multiplying warp knows of the ring.
class RingReader {
 public:
  __device__ __forceinline__ explicit RingReader(const Ring& ring) : ring_(ring) {}

  // The address of the next step's stage, when it has landed.
  __device__ __forceinline__ unsigned wait_for_step() {
    wait_phase(ring_.full + place_.stage * 8, place_.parity);
    const unsigned stage = ring_.stages + unsigned(place_.stage * kStageBytes);
    place_.next();
    return stage;
  }

  // This warp has read all that it reads of the oldest step that it has not yet released.
  __device__ __forceinline__ void release() {
    const unsigned lane = threadIdx.x % 32;
    if constexpr (kSharingBlocks == 1) {
      if (lane == 0) arrive(ring_.free + release_ * 8);
    } else {
      if (lane < kSharingBlocks) arrive_in_block(ring_.free + release_ * 8, lane);
    }
    release_ = release_ == kStages - 1 ? 0 : release_ + 1;
  }

  // Steps that others read.
  __device__ __forceinline__ void skip(int steps) {
    place_.advance(steps);
    release_ = unsigned(place_.stage);
  }

 private:
  Ring ring_;
  RingPlace place_;
  unsigned release_ = 0;  // the stage to be released next
};

}  // namespace tilesmith
