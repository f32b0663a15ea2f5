// The copies of all K-steps of a block's work items, in their order, each as soon as its stage is free: a warp's work.
//
// They are started in two parts. The code of the copying warp lies behind that of the warps that multiply, and whoever
// comes there first waits for it as for any memory; so the first few steps are started where all warps pass.
#pragma once

#include "kernels/shared/load/ring.cuh"
#include "kernels/shared/work/work.cuh"

namespace tilesmith {

// Tiles: of a block's items
//   unsigned first(), step(), count()                                   its first item, from one to its next, where they end
//   Work at(unsigned item)                                              its own part of an item
//   void copy(const Work& work, int k, unsigned stage, unsigned full)   starts the copies of the step at k
//   unsigned step_bytes()                                               that arrive in a step, where an operand is sparse

constexpr int kFirstCopies = kStages < 4 ? kStages : 4;

template <typename Tiles>
__device__ __forceinline__ void copy_step(const Ring& ring, const Tiles& tiles, const RingPlace& place,
                                          const Work& work, int k) {
  if constexpr (kIsSparse) {
    expect_bytes(ring.full_at(place), tiles.step_bytes());
  } else {
    ring.expect_step(place);
  }
  tiles.copy(work, k, ring.stage_at(place), ring.full_at(place));
}

// When the ring is ready, in all blocks to which this one copies.
template <typename Tiles>
__device__ __forceinline__ void start_first_copies(const Ring& ring, const Tiles& tiles) {
  const Work work = tiles.at(tiles.first());
  RingPlace place;
#pragma unroll
  for (int i = 0; i < kFirstCopies; ++i) {
    const int k = work.k0 + i * kNextStep;
    if (k < work.k) copy_step(ring, tiles, place, work, k);
    place.next();
  }
}

// All others; returns the place of what would be the next.
template <typename Tiles>
__device__ __forceinline__ RingPlace go_on_copying(const Ring& ring, const Tiles& tiles) {
  unsigned item = tiles.first();
  Work work = tiles.at(item);
  const int started = min(kFirstCopies, work.steps());
  int k = work.k0 + started * kNextStep;
  RingPlace place;
  place.advance(started);
  for (;;) {
    for (; k < work.k; k += kNextStep) {
      ring.wait_until_free(place);
      copy_step(ring, tiles, place, work, k);
      place.next();
    }
    item += tiles.step();
    if (!kPersistent || item >= tiles.count()) return place;
    work = tiles.at(item);
    k = work.k0;
  }
}

}  // namespace tilesmith
