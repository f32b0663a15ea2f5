// Barriers in shared memory (mbarrier, sm_90) on which copies by the tensor memory accelerator are waited for.
#pragma once

#include "kernels/shared/tensor_args.cuh"

namespace tilesmith {

__device__ __forceinline__ void init_barrier(unsigned barrier, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

// After the barriers of a block were initialised, so that copies and other blocks of the cluster see it.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// A whole warp executes these, and one thread of it, always the same, does them. Chosen otherwise, by its number, the
// compiler does not know that it is one, and puts a loop over all threads round each copy.
#define TILESMITH_BY_ONE(instruction) "{ .reg .pred one; elect.sync _|one, 0xffffffff; @one " instruction " }"

// By a warp: the one arrival of a `full` barrier's phase, and how many bytes are to come.
__device__ __forceinline__ void expect_bytes(unsigned barrier, unsigned bytes) {
  asm volatile(TILESMITH_BY_ONE("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;")::"r"(barrier), "r"(bytes)
               : "memory");
}

__device__ __forceinline__ void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// At the barrier of the same address in another block of the cluster.
__device__ __forceinline__ void arrive_in_block(unsigned barrier, unsigned rank) {
  asm volatile(
      "{ .reg .b32 theirs; mapa.shared::cluster.u32 theirs, %0, %1; mbarrier.arrive.shared::cluster.b64 _, [theirs]; "
      "}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}

// Waits for the end of the phase of that parity; phases are numbered from 0. The phase before the first has parity 1
// and has ended.
__device__ __forceinline__ void wait_phase(unsigned barrier, unsigned parity) {
  unsigned done = 0;
  while (done == 0) {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(barrier), "r"(parity)
                 : "memory");
  }
}

__device__ __forceinline__ void prefetch_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Copies of boxes: of the map's one matrix, or (kIsBatched) of one of its matrices.

// By a warp: a box of the matrix from (row, col) on into shared memory; its bytes arrive at the barrier `full`.
__device__ __forceinline__ void copy_box(unsigned to, const TensorMap& map, int col, int row, unsigned full) {
  asm volatile(TILESMITH_BY_ONE("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                                "[%0], [%1, {%2, %3}], [%4];")::"r"(to),
               "l"(&map), "r"(col), "r"(row), "r"(full)
               : "memory");
}

// The same into all blocks of the cluster whose bits are set, at the same address; in each the bytes arrive at its own
// barrier.
__device__ __forceinline__ void copy_box_to_blocks(unsigned to, const TensorMap& map, int col, int row, unsigned full,
                                                   unsigned short blocks) {
  asm volatile(
      TILESMITH_BY_ONE("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                       "[%0], [%1, {%2, %3}], [%4], %5;")::"r"(to),
      "l"(&map), "r"(col), "r"(row), "r"(full), "h"(blocks)
      : "memory");
}

// By a warp: so many bytes in a row, a multiple of 16, into shared memory.
__device__ __forceinline__ void copy_bytes(unsigned to, const void* from, unsigned bytes, unsigned full) {
  asm volatile(TILESMITH_BY_ONE("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];")::"r"(to),
               "l"(from), "r"(bytes), "r"(full)
               : "memory");
}

// By a warp: a box of shared memory to the matrix from (row, col) on; what lies outside the matrix is left out. What
// other threads wrote into the box is published first.
__device__ __forceinline__ void store_box(const TensorMap& map, int col, int row, unsigned from) {
  asm volatile(
      TILESMITH_BY_ONE("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];")::"l"(&map),
      "r"(col), "r"(row), "r"(from)
      : "memory");
}

__device__ __forceinline__ void copy_box(
    unsigned to, const TensorMap& map, int col, int row, int matrix, unsigned full) {
  if constexpr (!kIsBatched) {
    copy_box(to, map, col, row, full);
  } else {
    asm volatile(TILESMITH_BY_ONE("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                                  "[%0], [%1, {%2, %3, %4}], [%5];")::"r"(to),
                 "l"(&map), "r"(col), "r"(row), "r"(matrix), "r"(full)
                 : "memory");
  }
}
__device__ __forceinline__ void copy_box_to_blocks(
    unsigned to, const TensorMap& map, int col, int row, int matrix, unsigned full, unsigned short blocks) {
  if constexpr (!kIsBatched) {
    copy_box_to_blocks(to, map, col, row, full, blocks);
  } else {
    asm volatile(TILESMITH_BY_ONE(
                     "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                     "[%0], [%1, {%2, %3, %4}], [%5], %6;")::"r"(to),
                 "l"(&map), "r"(col), "r"(row), "r"(matrix), "r"(full), "h"(blocks)
                 : "memory");
  }
}

// A map, and the matrix of its batch that is stored into. (All groups share one.)
struct MapOfEntry {
  const TensorMap& map;
  int matrix;
};
__device__ __forceinline__ void store_box(const MapOfEntry& of, int col, int row, unsigned from) {
  if constexpr (!kIsBatched) {
    store_box(of.map, col, row, from);
  } else {
    asm volatile(TILESMITH_BY_ONE(
                     "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];")::"l"(&of.map),
                 "r"(col), "r"(row), "r"(of.matrix), "r"(from)
                 : "memory");
  }
}

// Of rows in the order of paired_columns.cuh: a box of whole steps from step `step` on, by a map that has the run, the
// half and the step as coordinates beside the column.
__device__ __forceinline__ void copy_pairs(
    unsigned to, const TensorMap& map, int col, int step, int matrix, unsigned full) {
  if constexpr (!kIsBatched) {
    asm volatile(TILESMITH_BY_ONE("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
                                  "[%0], [%1, {%2, %3, %3, %4}], [%5];")::"r"(to),
                 "l"(&map), "r"(col), "r"(0), "r"(step), "r"(full)
                 : "memory");
  } else {
    asm volatile(TILESMITH_BY_ONE("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes "
                                  "[%0], [%1, {%2, %3, %3, %4, %5}], [%6];")::"r"(to),
                 "l"(&map), "r"(col), "r"(0), "r"(step), "r"(matrix), "r"(full)
                 : "memory");
  }
}
__device__ __forceinline__ void copy_pairs_to_blocks(
    unsigned to, const TensorMap& map, int col, int step, int matrix, unsigned full, unsigned short blocks) {
  if constexpr (!kIsBatched) {
    asm volatile(TILESMITH_BY_ONE(
                     "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                     "[%0], [%1, {%2, %3, %3, %4}], [%5], %6;")::"r"(to),
                 "l"(&map), "r"(col), "r"(0), "r"(step), "r"(full), "h"(blocks)
                 : "memory");
  } else {
    asm volatile(TILESMITH_BY_ONE(
                     "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                     "[%0], [%1, {%2, %3, %3, %4, %5}], [%6], %7;")::"r"(to),
                 "l"(&map), "r"(col), "r"(0), "r"(step), "r"(matrix), "r"(full), "h"(blocks)
                 : "memory");
  }
}

// What this thread wrote into shared memory becomes visible to the accelerator.
__device__ __forceinline__ void publish_to_accelerator() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
// By a warp: the boxes stored since the last such call become a group.
__device__ __forceinline__ void end_store() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Until of all but the last `Left` groups of this thread shared memory was read.
template <int Left>
__device__ __forceinline__ void wait_until_stores_are_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Left) : "memory");
}

// A block's number in its cluster.
__device__ __forceinline__ unsigned rank_in_cluster() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// All threads of all blocks of the cluster wait for each other; those that have ended are not waited for. What they
// wrote is seen by all.
__device__ __forceinline__ void sync_cluster() {
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}

// The same in two halves, and with no promise about what was written: to make it takes long.
__device__ __forceinline__ void arrive_at_cluster() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ __forceinline__ void wait_for_cluster() { asm volatile("barrier.cluster.wait.aligned;" ::: "memory"); }

// Some of a block's warps, by name (0 is __syncthreads()): all that wait for each other, or that are waited for.
template <int Name, int Threads>
__device__ __forceinline__ void sync_some() {
  asm volatile("bar.sync %0, %1;" ::"n"(Name), "n"(Threads) : "memory");
}
template <int Name, int Threads>
__device__ __forceinline__ void arrive_at_some() {
  asm volatile("bar.arrive %0, %1;" ::"n"(Name), "n"(Threads) : "memory");
}

}  // namespace tilesmith
