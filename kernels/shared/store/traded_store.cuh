// From a warp's sums straight to C, 16 bytes a store: the four lanes that hold neighbours of a row, in pairs, trade
// them first.
//
//   columns of two instructions, 32 bits each     lane 0   1   2   3          0     1     2     3
//   (of four, 16 bits each)                            01  23  45  67   ──▶   0123  89ab  4567  cdef
//                                                      89  ab  cd  ef
//
// A quad's stores then cover 64 bytes of a row, and need neither shared memory, which the products of others may fill,
// nor a warp that waits for itself.
#pragma once

#include "kernels/shared/store/destination.cuh"
#include "kernels/shared/load/run.cuh"
#include "kernels/shared/store/warp_sums.cuh"

namespace tilesmith {

// With lane `threadIdx.x ^ kLanes`: lanes whose bit kLanes is set give their first and keep their second, the others
// the other way; what comes from the lower lane stands first.
template <int kLanes, int Count>
__device__ __forceinline__ void trade(const unsigned (&first)[Count], const unsigned (&second)[Count],
                                      unsigned (&both)[2 * Count], int lane) {
  const bool upper = (lane & kLanes) != 0;
#pragma unroll
  for (int w = 0; w < Count; ++w) {
    const unsigned kept = upper ? second[w] : first[w];
    const unsigned got = __shfl_xor_sync(0xffffffff, upper ? first[w] : second[w], kLanes);
    both[w] = upper ? got : kept;
    both[Count + w] = upper ? kept : got;
  }
}

// The sums of kStoredVector columns of C in a row, out of kStoredVector / 2 instructions, as they are stored.
template <int kOfInstructions = kStoredVector / 2>
class QuadTrade {
  static constexpr int kWords = (2 * int(sizeof(Stored)) + 3) / 4;  // of a run of two; of bytes it is not possible

 public:
  static constexpr int kInstructions = kOfInstructions;
  static constexpr bool kPossible = kInstructions == 2 || kInstructions == 4;

  // The first of the columns that the lane has after the trade.
  static __device__ __forceinline__ int column(int lane) {
    return kInstructions == 2 ? lane % 2 * 8 + lane % 4 / 2 * 4 : lane % 4 * 8;
  }

  __device__ __forceinline__ void take(int instruction, const Destination& to, const Accumulator (&run)[2]) {
    Run<Stored, 2> finished;
    to.finish(run, finished.x);
#pragma unroll
    for (int w = 0; w < kWords; ++w) words_[instruction][w] = reinterpret_cast<const unsigned*>(&finished)[w];
  }

  __device__ __forceinline__ void put(Stored* at, bool inside, int lane) const {
    Run<Stored, kStoredVector> run;
    unsigned(&all)[kInstructions * kWords] = *reinterpret_cast<unsigned(*)[kInstructions * kWords]>(&run);
    if constexpr (kInstructions == 2) {
      trade<1>(words_[0], words_[1], all, lane);
    } else {
      unsigned lower[2 * kWords], upper[2 * kWords];
      trade<1>(words_[0], words_[1], lower, lane);
      trade<1>(words_[2], words_[3], upper, lane);
      trade<2>(lower, upper, all, lane);
    }
    if (inside) put_run(at, run.x);
  }

 private:
  unsigned words_[kInstructions][kWords];
};

// Where rows of C take vectors and end with a whole one. Columns of the warp's tile that fill no trade are stored in
// pairs.
template <typename Sums>
__device__ __forceinline__ void store_traded(const Sums& sums, const Destination& to, int m0, int n0) {
  constexpr int kAtATime = 8 * QuadTrade<>::kInstructions, kEnd = Sums::kColumns / kAtATime * kAtATime;
  int lane = int(threadIdx.x % 32);
  asm volatile("" : "+r"(lane), "+r"(m0), "+r"(n0));  // what is derived from them is not computed ahead, beside all the sums
  const int col = QuadTrade<>::column(lane), cols_left = to.cols() - (n0 + col);
#pragma unroll
  for (int i = 0; i < Sums::kRowGroups; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int m = m0 + Sums::row_of(i, r, lane / 4);
      const bool inside = m < to.rows();
      Stored* const place = to.place(m, n0 + col);
#pragma unroll
      for (int first = 0; first < kEnd; first += kAtATime) {
        QuadTrade<> trade;
        int taken = 0;
        each_run(sums, i, r, first, kAtATime, [&](int, const auto& run) { trade.take(taken++, to, run); });
        trade.put(place + first, inside && first < cols_left, lane);
      }
      if constexpr (kEnd < Sums::kColumns) {
        each_run(sums, i, r, kEnd, Sums::kColumns - kEnd,
                      [&](int n, const auto& run) { to.store(m, n0 + n, run); });
      }
    }
  }
}

}  // namespace tilesmith
