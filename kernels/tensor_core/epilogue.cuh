// From the sums of a warp to memory.
//
//   direct    16 bytes a thread, after a trade within quads (traded_store.cuh); else 2 or 4 neighbouring columns, as the
//             instruction leaves them
//   staged    8 rows of the warp's tile at a time through shared memory, then stores of whole rows
//   summed    where several warps (sliced K) or the blocks of a cluster (split K) hold sums of the same elements: all
//             through shared memory, added in a fixed order, each block storing its share of the rows
//
// What C holds is in the sums before where they go `direct` (blend.cuh); the others take it in as rows of them are stored.
// Where sums lie is said by warp_sums.cuh.
#pragma once

#include "kernels/tensor_core/barrier.cuh"
#include "kernels/tensor_core/blend.cuh"
#include "kernels/tensor_core/block_memory.cuh"
#include "kernels/tensor_core/traded_store.cuh"

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

// Rows of sums in shared memory to C, by kStoringWarps warps. In vectors, where C's rows start at 16-byte boundaries; else an
// element a lane, row by row, so that a warp's elements are neighbours and a row's address is made once.
//   `get(row, col, sums)` fetches kStoredVector of them, `get_one(row, col)` one; `row_of` is a row's place in C
template <bool kBlend, int kRows, int kCols, int kStoringWarps, typename Get, typename GetOne, typename RowOf>
__device__ __forceinline__ void store_rows_by(const Destination& to, int n0, Get get, GetOne get_one, RowOf row_of) {
#ifdef TILESMITH_EPILOGUE
  const Destination over = to.behind_epilogue();
#else
  const Destination over = kBlend ? to.over() : to;
#endif
  if (__builtin_expect(to.takes_vectors(), 1)) {
    constexpr int kRunsPerRow = kCols / kStoredVector, kRuns = kRows * kRunsPerRow, kStep = 32 * kStoringWarps;
    constexpr int kTurns = (kRuns + kStep - 1) / kStep, kAtATime = kTurns < 4 ? kTurns : 4;
    const int thread = int(threadIdx.x % kStep);
#pragma unroll 1
    for (int first = thread; first < kRuns; first += kAtATime * kStep) {
      Held<kStoredVector> held[kAtATime];
      if constexpr (kBlend) {
#pragma unroll
        for (int b = 0; b < kAtATime; ++b) {
          const int run = first + b * kStep, row = run / kRunsPerRow, col = run % kRunsPerRow * kStoredVector;
          const int left = run < kRuns ? to.left(row_of(row), n0 + col) : 0;
#ifdef TILESMITH_EPILOGUE
          const Stored* const from = to.held_at(row_of(row), n0 + col);
#else
          const Stored* const from = to.place(row_of(row), n0 + col);
#endif
          if (left >= kStoredVector) {
            held[b].load(from);
          } else {
#pragma unroll
            for (int e = 0; e < kStoredVector - 1; ++e) {
              if (e < left) held[b].set(e, from[e]);
            }
          }
        }
      }
#pragma unroll
      for (int b = 0; b < kAtATime; ++b) {
        const int run = first + b * kStep, row = run / kRunsPerRow, col = run % kRunsPerRow * kStoredVector;
        if (kRuns % (kAtATime * kStep) != 0 && run >= kRuns) break;
        Accumulator sums[kStoredVector];
        get(row, col, sums);
#ifdef TILESMITH_EPILOGUE
        if (!to.is_fused()) to.scale_run(row_of(row), n0 + col, sums);
#endif
        if constexpr (kBlend) to.take(held[b], sums);
#ifdef TILESMITH_EPILOGUE
        if (!to.is_fused()) to.template fuse_run<kBlend>(row_of(row), n0 + col, sums);
#endif
        over.store(row_of(row), n0 + col, sums);
      }
    }
  } else {
    constexpr int kTurns = (kCols + 31) / 32;
    constexpr int kRowsAtATime = kBlend ? 1 : 2;
    const int lane = int(threadIdx.x % 32);
#pragma unroll kRowsAtATime
    for (int row = int(threadIdx.x / 32 % kStoringWarps); row < kRows; row += kStoringWarps) {
      const int m = row_of(row);
      Held<1> held[kTurns];
      if constexpr (kBlend) {
#pragma unroll
        for (int turn = 0; turn < kTurns; ++turn) {
          const int col = turn * 32 + lane;
#ifdef TILESMITH_EPILOGUE
          if (col < kCols && to.left(m, n0 + col) > 0) held[turn].load(to.held_at(m, n0 + col));
#else
          if (col < kCols && to.left(m, n0 + col) > 0) held[turn].load(to.place(m, n0 + col));
#endif
        }
      }
#pragma unroll
      for (int turn = 0; turn < kTurns; ++turn) {
        const int col = turn * 32 + lane;
        if (col >= kCols) break;
        Accumulator one[1] = {get_one(row, col)};
#ifdef TILESMITH_EPILOGUE
        if (!to.is_fused()) to.scale_run(m, n0 + col, one);
#endif
        if constexpr (kBlend) to.take(held[turn], one);
#ifdef TILESMITH_EPILOGUE
        if (!to.is_fused()) to.template fuse_run<kBlend>(m, n0 + col, one);
#endif
        over.store(m, n0 + col, one);
      }
    }
  }
}

// With α and, where it is not 0, β.
template <int kRows, int kCols, int kStoringWarps, typename Get, typename GetOne, typename RowOf>
__device__ __forceinline__ void store_rows(const Destination& to, int n0, Get get, GetOne get_one, RowOf row_of) {
  if (!kBlends || __builtin_expect(to.overwrites(), 1)) {
    store_rows_by<false, kRows, kCols, kStoringWarps>(to, n0, get, get_one, row_of);
  } else {
    store_rows_by<true, kRows, kCols, kStoringWarps>(to, n0, get, get_one, row_of);
  }
}

// Staged stores of the tile's columns from kFirst on, where a thread's rows are evenly spaced: places in C are a pointer and
// constant steps, and what lies outside C is left out by comparing with constants.
// With β = 0 sums become what is stored on their way into the scratch where that is narrower, which halves its traffic, and where
// they leave it one by one; else on their way out.
//   kVector  sums that a thread stores at a time: kStoredVector, where C's rows take vectors and end with a whole one, or 1
//   kBlend   β is not 0
template <int kFirst, int kVector, bool kBlend, typename Sums>
__device__ __forceinline__ void store_staged_evenly(const Sums& sums, const Destination& to, int m0, int n0,
                                                    Accumulator* scratch) {
#ifdef TILESMITH_EPILOGUE
  constexpr int kPad = sizeof(Stored) > 1 ? kSumsPad : 16;  // rows of bytes begin at multiples of 16, too
  constexpr int kAtATime = staged_columns(Sums::kColumns - kFirst), kStride = kAtATime + (kBlend ? kSumsPad : kPad);
#else
  constexpr int kAtATime = staged_columns(Sums::kColumns - kFirst), kStride = kAtATime + kSumsPad;
#endif
  constexpr int kEnd = Sums::kColumns - (Sums::kColumns - kFirst) % kAtATime;
  constexpr int kRunsPerRow = kAtATime / kVector, kLanesPerRow = kRunsPerRow < 32 ? kRunsPerRow : 32;
  constexpr int kRowsOfLanes = 32 / kLanesPerRow, kPart = kLanesPerRow * kVector;  // columns of a row a turn
  constexpr int kRowsPerTurn = kRowsOfLanes < kScratchRows ? kRowsOfLanes : kScratchRows;
  static_assert(32 % kLanesPerRow == 0 && kAtATime % kPart == 0,
                "a warp stores whole rows of its scratch, or parts of one");
  constexpr bool kFinished = !kBlend && (kVector == 1 || sizeof(Stored) < sizeof(Accumulator));
  using Staged = Either<kFinished, Stored, Accumulator>;
  int lane = int(threadIdx.x % 32);
  asm volatile(""
               : "+r"(lane), "+r"(m0),
                 "+r"(n0));  // what is derived from them is not computed ahead, beside all the sums
  const int row = lane / kLanesPerRow, col = lane % kLanesPerRow * kVector;
  Staged* const put_at = reinterpret_cast<Staged*>(scratch) + lane / 4 * kStride;
  // Lanes of narrow tiles that have no row, and store nothing, read as others do: without a branch.
  const int row_read = kRowsOfLanes > kScratchRows ? row % kScratchRows : row;
  const Staged* const get_at = reinterpret_cast<const Staged*>(scratch) + row_read * kStride + col;
  constexpr int kParts = kAtATime / kPart, kTurns = kScratchRows / kRowsPerTurn;
  constexpr int kFit =
      (kSumRegisters<Sums> >= 128 || kVector == 1 ? 8 : 16) / ((int(sizeof(Held<kVector>)) + 3) / 4 * kParts);
  // Whose loads of C are under way together.
  constexpr int kTurnsAtATime = !kBlend || kFit >= kTurns ? kTurns : kFit < 1 ? 1 : kFit;
  static_assert(kTurns % kTurnsAtATime == 0, "as many turns each time");
  const Destination over = kBlend ? to.over() : to;
  const long long step = to.stride() * (kRowsPerTurn * Sums::kRowStep);
  const int cols_left = kRowsOfLanes > kScratchRows && row >= kScratchRows ? 0 : to.cols() - (n0 + col);
#pragma unroll
  for (int i = 0; i < Sums::kRowGroups; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int m = m0 + sums.row_of(i, r, row), rows_left = to.rows() - m;
      Stored* const place = to.place(m, n0 + col);
#pragma unroll
      for (int first = kFirst; first < kEnd; first += kAtATime) {
        __syncwarp();  // the former rows have been read
        each_run(sums, i, r, first, kAtATime, [&](int n, const auto& run) {
          if constexpr (kFinished) {
            Stored finished[sizeof(run) / sizeof(run[0])];
            to.finish(run, finished);
            put_run(put_at + n - first, finished);
          } else {
            put_run(put_at + n - first, run);
          }
        });
        __syncwarp();
        const auto is_inside = [&](int turn, int part) {
          return turn * kRowsPerTurn * Sums::kRowStep < rows_left && first + part * kPart < cols_left;
        };
        Stored* at = place + first;
#pragma unroll 1
        for (int begin = 0; begin < kTurns; begin += kTurnsAtATime) {
          Held<kVector> held[kTurnsAtATime][kParts];
          if constexpr (kBlend) {
            const Stored* from = at;
#pragma unroll
            for (int turn = 0; turn < kTurnsAtATime; ++turn, from += step) {
#pragma unroll
              for (int part = 0; part < kParts; ++part) {
                if (is_inside(begin + turn, part)) held[turn][part].load(from + part * kPart);
              }
            }
          }
#pragma unroll
          for (int turn = 0; turn < kTurnsAtATime; ++turn, at += step) {
#pragma unroll
            for (int part = 0; part < kParts; ++part) {
              Staged run[kVector];
              get_run(get_at + (begin + turn) * kRowsPerTurn * kStride + part * kPart, run);
              if constexpr (kFinished) {
                if (is_inside(begin + turn, part)) put_run(at + part * kPart, run);
              } else {
                Stored finished[kVector];  // outside of C too: without a branch many are under way
                if constexpr (kBlend) to.take(held[turn][part], run);
                over.finish(run, finished);
                if (is_inside(begin + turn, part)) put_run(at + part * kPart, finished);
              }
            }
          }
        }
      }
    }
  }
  if constexpr (kEnd < Sums::kColumns) store_staged_evenly<kEnd, kVector, kBlend>(sums, to, m0, n0, scratch);
}

// The same for rows that lie anyhow, or that are added atomically.
template <int kFirst, typename Sums>
__device__ __forceinline__ void store_staged_anyhow(const Sums& sums, const Destination& to, int m0, int n0,
                                                    Accumulator* scratch) {
  constexpr int kAtATime = staged_columns(Sums::kColumns - kFirst), kStride = kAtATime + kSumsPad;
  constexpr int kEnd = Sums::kColumns - (Sums::kColumns - kFirst) % kAtATime;
  const int g = int(threadIdx.x % 32 / 4);
#pragma unroll
  for (int i = 0; i < Sums::kRowGroups; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#pragma unroll
      for (int first = kFirst; first < kEnd; first += kAtATime) {
        __syncwarp();  // the former rows have been read
        each_run(sums, i, r, first, kAtATime,
                 [&](int n, const auto& run) { put_run(scratch + g * kStride + n - first, run); });
        __syncwarp();
        store_rows<kScratchRows, kAtATime, 1>(
            to, n0 + first, [&](int row, int col, auto& run) { get_run(scratch + row * kStride + col, run); },
            [&](int row, int col) { return scratch[row * kStride + col]; },
            [&](int row) { return m0 + sums.row_of(i, r, row); });
      }
    }
  }
  if constexpr (kEnd < Sums::kColumns) store_staged_anyhow<kEnd>(sums, to, m0, n0, scratch);
}

// Through the warp's own scratch_elements(Sums::kColumns) of shared memory.
template <typename Sums>
__device__ __forceinline__ void store_staged(const Sums& sums, const Destination& to, int m0, int n0,
                                             Accumulator* scratch) {
  static_assert(Sums::kColumns % kStoredVector == 0, "a row of the warp's tile must split into 16-byte stores");
  if constexpr (Sums::kRowStep > 0 && !kAtomicAdds) {
    // What is known beforehand leaves no branch between a sum's load and its store, so that many are under way.
    if (to.overwrites()) {
      if (to.is_whole_vectors()) {
        store_staged_evenly<0, kStoredVector, false>(sums, to, m0, n0, scratch);
      } else {
        store_staged_evenly<0, 1, false>(sums, to, m0, n0, scratch);
      }
    } else if constexpr (kBlends) {
      if (to.is_whole_vectors()) {
        store_staged_evenly<0, kStoredVector, true>(sums, to, m0, n0, scratch);
      } else {
        store_staged_evenly<0, 1, true>(sums, to, m0, n0, scratch);
      }
    }
  } else {
    store_staged_anyhow<0>(sums, to, m0, n0, scratch);
  }
}

#ifdef TILESMITH_GATED
}  // namespace tilesmith
#include "kernels/tensor_core/gate_summed.cuh"
namespace tilesmith {
#endif

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

// Every block of a cluster stores as many of the tile's rows. Each warp puts its sums where their rows are stored, beside those
// of the other blocks and slices, and what arrives is added there: a store to another block's memory waits for nothing.
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
#ifdef TILESMITH_GATED
  if constexpr (!kPartials)
    return store_gated_rows<kShare, kParts, kThreadsThatStore / 32>(to, shared, block_m0 + int(rank) * kShare, block_n0 / 2);
#endif
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
