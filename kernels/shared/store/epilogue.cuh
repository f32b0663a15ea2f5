// From the sums of a warp to memory.
//
//   direct    16 bytes a thread, after a trade within quads (traded_store.cuh); else 2 or 4 neighbouring columns, as the
//             instruction leaves them
//   staged    8 rows of the warp's tile at a time through shared memory, then stores of whole rows (staged_store.cuh)
//   summed    where several warps (sliced K) or the blocks of a cluster (split K) hold sums of the same elements: all
//             through shared memory, added in a fixed order, each block storing its share of the rows
//
// What C holds is in the sums before where they go `direct` (blend.cuh); the others take it in as rows of them are
// stored. Where sums lie is said by warp_sums.cuh.
#pragma once

#include "kernels/shared/load/barrier.cuh"
#include "kernels/shared/finish/gate_summed.cuh"
#include "kernels/shared/store/staged_store.cuh"
#include "kernels/shared/store/traded_store.cuh"

namespace tilesmith {

template <typename Sums>
__device__ __forceinline__ void store_direct(const Sums& sums, const Destination& to, int m0, int n0) {
  if constexpr (Sums::kInPairs && QuadTrade<>::kPossible && !kAtomicAdds) {
    if (to.is_whole_vectors()) {
      store_traded(sums, to, m0, n0);
      return;
    }
  }
#pragma unroll
  for (int i = 0; i < Sums::kRowGroups; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int m = m0 + sums.row(i, r);
      each_run(sums, i, r, 0, Sums::kColumns, [&](int n, const auto& run) { to.store(m, n0 + n, run); });
    }
  }
}

// The same address in the shared memory of another block of the cluster.
__device__ __forceinline__ Accumulator* of_block(Accumulator* mine, unsigned rank) {
  if constexpr (kClusterSums) {
    unsigned long long theirs;
    asm("mapa.u64 %0, %1, %2;" : "=l"(theirs) : "l"(mine), "r"(rank));
    return reinterpret_cast<Accumulator*>(theirs);
  } else {
    return mine;
  }
}

// Every block of a cluster stores as many of the tile's rows. Each warp puts its sums where their rows are stored,
// beside those of the other blocks and slices, and what arrives is added there: a store to another block's memory waits
// for nothing.
//   `shared`     summed_elements(kBlockM, kBlockN) of each slice of K that the block's warps hold, free to be written here
//   `place`      m0, n0: where the warp's tile lies in the block's; slice: which slice of K it holds
//   `wait_for_all()` waits for all threads that store, of all blocks of the cluster
template <int kSlices, int kThreadsThatStore, typename Sums, typename Place, typename WaitForAll>
__device__ __forceinline__ void store_summed(const Sums& sums, const Destination& to, const Place& place, int block_m0,
                                             int block_n0, Accumulator* shared, WaitForAll wait_for_all) {
  constexpr int kShare = kBlockM / kClusterK;  // rows a block stores
  constexpr int kParts = kClusterK * kSlices;
  constexpr int kStride = kBlockN + kSumsPad, kPart = kShare * kStride;
  static_assert(kBlockM % kClusterK == 0, "a tile's rows must split among the blocks of a cluster");
  const unsigned rank = kClusterSums ? rank_in_cluster() : 0;
  // This warp's part of a row of C, where it is stored.
  const auto part_of = [&](int m) {
    Accumulator* part = of_block(shared, unsigned(m / kShare)) + (rank * kSlices + place.slice) * kPart;
    return part + m % kShare * kStride + place.n0;
  };
  if constexpr (kClusterSums) wait_for_all();  // the other blocks' rings are read
#pragma unroll
  for (int i = 0; i < Sums::kRowGroups; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = sums.row(i, r);
      if constexpr (Sums::kSwapped) {
        each_run(sums, i, r, 0, Sums::kColumns, [&](int column, const auto& run) {
#pragma unroll
          for (int e = 0; e < int(sizeof(run) / sizeof(run[0])); ++e) part_of(place.m0 + column + e)[row] = run[e];
        });
      } else {
        Accumulator* at = part_of(place.m0 + row);
        each_run(sums, i, r, 0, Sums::kColumns, [&](int n, const auto& run) { put_run(at + n, run); });
      }
    }
  }
  wait_for_all();
  if constexpr (kIsGated && !kPartials)
    return store_gated_rows<kShare, kParts, kThreadsThatStore / 32>(
        to, shared, block_m0 + int(rank) * kShare, block_n0 / 2);
  store_rows<kShare, kBlockN, kThreadsThatStore / 32>(
      to, block_n0,
      [&](int row, int col, auto& run) {
        get_run(shared + row * kStride + col, run);
#pragma unroll
        for (int part = 1; part < kParts; ++part) {
          Accumulator more[kStoredVector];
          get_run(shared + part * kPart + row * kStride + col, more);
#pragma unroll
          for (int e = 0; e < kStoredVector; ++e) run[e] = added(run[e], more[e]);
        }
      },
      [&](int row, int col) {
        Accumulator all = shared[row * kStride + col];
#pragma unroll
        for (int part = 1; part < kParts; ++part) all = added(all, shared[part * kPart + row * kStride + col]);
        return all;
      },
      [&](int row) { return block_m0 + int(rank) * kShare + row; });
}

}  // namespace tilesmith
