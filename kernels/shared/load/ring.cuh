// The ring of stages that a copying warp fills and other warps read. A family says how large a stage is (kStageBytes)
// before.
//
// Two barriers a stage: `full` counts the bytes that arrive, `free` the warps that no longer read it. The copying
// thread runs ahead as far as there are free stages, over the end of a work item too.
#pragma once

#include "kernels/shared/load/barrier.cuh"
#include "kernels/shared/store/block_memory.cuh"

namespace tilesmith {

constexpr int kRingBytes = kStages * kStageBytes;

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

struct Ring {
  unsigned stages, full, free;  // addresses

  __device__ __forceinline__ Ring(unsigned shared, unsigned barriers)
      : stages(shared), full(barriers), free(barriers + kStages * 8) {}

  // By one thread, before any other use; all others wait for it. `reading_warps` of a stage, in all blocks to which
  // this one copies.
  __device__ __forceinline__ void init(unsigned reading_warps) const {
    for (int stage = 0; stage < kStages; ++stage) {
      init_barrier(full + stage * 8, 1);
      init_barrier(free + stage * 8, reading_warps);
    }
    publish_barriers();
  }

  __device__ __forceinline__ unsigned stage_at(const RingPlace& place) const {
    return stages + unsigned(place.stage * kStageBytes);
  }
  __device__ __forceinline__ unsigned full_at(const RingPlace& place) const { return full + place.stage * 8; }

  // By the copying warp: until the stage is free to be filled; and how many bytes are to come.
  __device__ __forceinline__ void wait_until_free(const RingPlace& place) const {
    wait_phase(free + place.stage * 8, place.parity ^ 1);
  }
  // Until none is read any more, where `place` is the next to be filled.
  __device__ __forceinline__ void wait_until_all_free(RingPlace place) const {
    for (int stage = 0; stage < kStages; ++stage) {
      wait_until_free(place);
      place.next();
    }
  }
  __device__ __forceinline__ void expect_step(const RingPlace& place) const {
    expect_bytes(full_at(place), kStageBytes);
  }
};

// Reading a map takes as long as reading memory. Unset ones are read too, and not used.
__device__ __forceinline__ void prefetch_maps(const TensorGemmArgs& args) {
  prefetch_map(args.a);
  prefetch_map(args.b);
}

// What a multiplying warp knows of the ring.
class RingReader {
 public:
  __device__ __forceinline__ explicit RingReader(const Ring& ring) : ring_(ring) {}

  // The address of the next step's stage, when it has landed.
  __device__ __forceinline__ unsigned wait_for_step() {
    wait_phase(ring_.full_at(place_), place_.parity);
    const unsigned stage = ring_.stage_at(place_);
    place_.next();
    return stage;
  }

  // This warp has read all that it reads of the oldest step that it has not yet released: it tells the block, or the
  // kBlocks of the cluster that copy to it.
  template <int kBlocks = 1>
  __device__ __forceinline__ void release() {
    const unsigned lane = threadIdx.x % 32;
    if constexpr (kBlocks == 1) {
      if (lane == 0) arrive(ring_.free + release_ * 8);
    } else {
      if (lane < kBlocks) arrive_in_block(ring_.free + release_ * 8, lane);
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
