// Staged stores: 8 rows of a warp's tile at a time through its own shared memory, then stores of whole rows of C.
#pragma once

#include "kernels/shared/finish/blend.cuh"
#include "kernels/shared/store/block_memory.cuh"
#include "kernels/shared/store/row_store.cuh"
#include "kernels/shared/load/run.cuh"
#include "kernels/shared/store/warp_sums.cuh"

namespace tilesmith {

// Stores the tile's columns from kFirst on, if a thread's rows are evenly spaced. Addresses in C are then a pointer
// plus constant steps, and elements outside C are left out by comparing with constants. With β = 0, sums become outputs
// on their way into the scratch if outputs are narrower, which halves its traffic, or are stored one by one. Otherwise
// sums become outputs on their way out.
//   kVector  sums that a thread stores at a time: kStoredVector, where C's rows take vectors and end with a whole one, or 1
//   kBlend   β is not 0
template <int kFirst, int kVector, bool kBlend, typename Sums>
class EvenStore {
  static constexpr int kPad =
      !kBlend && sizeof(Stored) == 1 ? 16 : kSumsPad;  // so that rows of bytes begin at multiples of 16, too
  static constexpr int kAtATime = staged_columns(Sums::kColumns - kFirst), kStride = kAtATime + kPad;
  static constexpr int kRunsPerRow = kAtATime / kVector, kLanesPerRow = kRunsPerRow < 32 ? kRunsPerRow : 32;
  static constexpr int kRowsOfLanes = 32 / kLanesPerRow, kPart = kLanesPerRow * kVector;  // columns of a row a turn
  static constexpr int kRowsPerTurn = kRowsOfLanes < kScratchRows ? kRowsOfLanes : kScratchRows;
  static_assert(
      32 % kLanesPerRow == 0 && kAtATime % kPart == 0, "a warp stores whole rows of its scratch, or parts of one");
  static constexpr bool kFinished = !kBlend && (kVector == 1 || sizeof(Stored) < sizeof(Accumulator));
  using Staged = Either<kFinished, Stored, Accumulator>;
  static constexpr int kParts = kAtATime / kPart, kTurns = kScratchRows / kRowsPerTurn;
  static constexpr int kFit =
      (kSumRegisters<Sums> >= 128 || kVector == 1 ? 8 : 16) / ((int(sizeof(Held<kVector>)) + 3) / 4 * kParts);
  // Turns whose loads of C are under way together.
  static constexpr int kTurnsAtATime = !kBlend || kFit >= kTurns ? kTurns : kFit < 1 ? 1 : kFit;
  static_assert(kTurns % kTurnsAtATime == 0, "as many turns each time");

 public:
  static constexpr int kEnd = Sums::kColumns - (Sums::kColumns - kFirst) % kAtATime;

  // (m0, n0): where the warp's tile lies in C.
  static __device__ __forceinline__ void store(
      const Sums& sums, const Destination& to, int m0, int n0, Accumulator* scratch) {
    int lane = int(threadIdx.x % 32);
    asm volatile("" : "+r"(lane), "+r"(m0), "+r"(n0));  // what is derived from them is not computed ahead, beside all the sums
    const int row = lane / kLanesPerRow, col = lane % kLanesPerRow * kVector;
    Staged* const put_at = reinterpret_cast<Staged*>(scratch) + lane / 4 * kStride;
    // In a narrow tile some lanes have no row to store. They read as the others do, which saves a branch.
    const int row_read = kRowsOfLanes > kScratchRows ? row % kScratchRows : row;
    const Staged* const get_at = reinterpret_cast<const Staged*>(scratch) + row_read * kStride + col;
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
          each_run(sums, i, r, first, kAtATime, [&](int n, const auto& run) { stage(run, to, put_at + n - first); });
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
                  Stored finished[kVector];  // outside C, too: without a branch more are under way
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
    if constexpr (kEnd < Sums::kColumns) EvenStore<kEnd, kVector, kBlend, Sums>::store(sums, to, m0, n0, scratch);
  }

 private:
  template <int kRun>
  static __device__ __forceinline__ void stage(const Accumulator (&run)[kRun], const Destination& to, Staged* at) {
    if constexpr (kFinished) {
      Stored finished[kRun];
      to.finish(run, finished);
      put_run(at, finished);
    } else {
      put_run(at, run);
    }
  }
};

// The same where a thread's rows are not evenly spaced, or sums are added atomically.
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
        EvenStore<0, kStoredVector, false, Sums>::store(sums, to, m0, n0, scratch);
      } else {
        EvenStore<0, 1, false, Sums>::store(sums, to, m0, n0, scratch);
      }
    } else if constexpr (kBlends) {
      if (to.is_whole_vectors()) {
        EvenStore<0, kStoredVector, true, Sums>::store(sums, to, m0, n0, scratch);
      } else {
        EvenStore<0, 1, true, Sums>::store(sums, to, m0, n0, scratch);
      }
    }
  } else {
    store_staged_anyhow<0>(sums, to, m0, n0, scratch);
  }
}

}  // namespace tilesmith
