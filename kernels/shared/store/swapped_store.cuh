// Straight from registers to C where operands are swapped. A warp's sums lie along N, elements or pairs of neighbours
// of a row of C in 8 lanes, so that a store of the warp covers 32 or 64 bytes of each of four rows (of 4-byte results).
// Every thread goes down its rows of C by one pointer, and what it has of a row lies at constant distances.
//
//           ← along N, lanes g = 0 .. 7 →           elements: wgmma's left operand by descriptors, g and, 8 further, g again
//   rows    ┌──────────────────────────┐            pairs: wgmma's from registers, side by side; mma's, dealt in words, in two
//   2 t     │  t's                     │ of 8       pieces of 4 lanes each
//   2 t + 1 │  t's                     │
//           └──────────────────────────┘
//
// Traded among lanes for 16 bytes a store, as store_traded() does, they take longer: shuffles and products share what
// shared memory gives.
#pragma once

#include "kernels/shared/finish/blend.cuh"
#include "kernels/shared/store/transposed_store.cuh"
#include "kernels/shared/store/warp_sums.cuh"

namespace tilesmith {

// Of sums that leave few registers beside them:
//   kTwiceIfTight  the stores are there twice, once right behind the products (store_blended() says why), as those of others always are
//   kFenced        no more of C is loaded ahead than a batch
template <typename Sums, bool kTwiceIfTight, bool kFenced>
class SwappedStore {
  static_assert(!Sums::kSwapped || Sums::kRun == 2, "a thread holds the sums of two rows of C side by side");
  static constexpr int kRows = Sums::kColumns / 4;     // of C, of a thread
  static constexpr int kOfRow = 2 * Sums::kRowGroups;  // sums that it has of each
  static constexpr bool kTight = kSumRegisters<Sums> >= 128;  // there are few registers beside all the sums
  static constexpr bool kTwice = !kTight || kTwiceIfTight;

 public:
  // (m0, n0): where the warp's tile lies in C.
  static __device__ __forceinline__ void store(Sums& sums, const Destination& to, int m0, int n0) {
    if (!kBlends || (kTwice && __builtin_expect(to.overwrites(), 1))) {
      put(sums, to, m0, n0);
    } else {
      if (!to.overwrites()) blend(sums, to, m0, n0);
      if constexpr (kTwice) {
        put_by<1>(sums, to.over(), m0, n0);
      } else {
        put(sums, to.over(), m0, n0);
      }
    }
  }

 private:
  // Where a thread's sums of its `row`-th row lie: rows of C from its first one, columns from the first sum of a row.
  static __device__ __forceinline__ constexpr int down(int row) { return Sums::offset(row / 2) + row % 2; }
  static __device__ __forceinline__ int along(int i) { return Sums::row_of(i / 2, i % 2, 0); }
  static __device__ __forceinline__ Accumulator sum(const Sums& sums, int row, int i) {
    return sums.sum(i / 2, i % 2, row / 2, row % 2);
  }

  // What a thread stores into, or reads.
  struct Place {
    int rows_left, cols_left;
    long long stride;
    Stored* at;  // of its row

    __device__ __forceinline__ Place(const Destination& to, int m0, int n0) {
      asm volatile("" : "+r"(m0), "+r"(n0));  // what is derived from them is not computed ahead, beside all the sums
      const int m = m0 + Sums::first_column(), n = n0 + Sums::row(0, 0);
      rows_left = to.rows() - m;
      cols_left = to.cols() - n;
      stride = to.stride();
      at = to.place(m, n);
    }
    __device__ __forceinline__ bool has(int row, int i) const { return down(row) < rows_left && along(i) < cols_left; }
    __device__ __forceinline__ void leave(int row) { at += (down(row + 1) - down(row)) * stride; }
  };

  static __device__ __forceinline__ void put(const Sums& sums, const Destination& to, int m0, int n0) {
    if constexpr (kIsSparse && kTransposes<Sums>) {
      if (to.is_whole_runs<4>()) return store_transposed(sums, to, m0, n0);
    }
    if constexpr (kAtomicAdds) {
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
#pragma unroll
        for (int i = 0; i < kOfRow; ++i) {
          const Accumulator one[1] = {sum(sums, row, i)};
          to.store(m0 + Sums::first_column() + down(row), n0 + Sums::row(i / 2, i % 2), one);
        }
      }
    } else if (Sums::kRowPairs && to.is_whole_runs<2>()) {
      put_by<2>(sums, to, m0, n0);
    } else {
      put_by<1>(sums, to, m0, n0);
    }
  }

  // So many neighbours at a time.
  template <int kVector>
  static __device__ __forceinline__ void put_by(const Sums& sums, const Destination& to, int m0, int n0) {
    Place place(to, m0, n0);
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
#pragma unroll
      for (int i = 0; i < kOfRow; i += kVector) {
        Accumulator run[kVector];
#pragma unroll
        for (int e = 0; e < kVector; ++e) run[e] = sum(sums, row, i + e);
        if (place.has(row, i)) to.put(place.at + along(i), run);
      }
      place.leave(row);
    }
  }

  // sums ← α·sums + β·C, by batches of rows whose loads are under way together.
  static __device__ __forceinline__ void blend(Sums& sums, const Destination& to, int m0, int n0) {
    constexpr int kRegisters = kTight ? 4 * int(sizeof(Stored)) : 32;
    constexpr int kFit = kRegisters / kOfRow, kAtATime = kFit < 1 ? 1 : kFit < kRows ? kFit : kRows;
    Place place(to, m0, n0);
#pragma unroll
    for (int first = 0; first < kRows; first += kAtATime) {
      if (kTight && kFenced) asm volatile("fence.acq_rel.cta;" ::: "memory");  // no more is loaded ahead than a batch
      Held<1> held[kAtATime][kOfRow];
#pragma unroll
      for (int b = 0; b < kAtATime; ++b) {
        if (first + b >= kRows) break;
#pragma unroll
        for (int i = 0; i < kOfRow; ++i) {
          if (place.has(first + b, i)) held[b][i].load(place.at + along(i));
        }
        place.leave(first + b);
      }
#pragma unroll
      for (int b = 0; b < kAtATime; ++b) {
        if (first + b >= kRows) break;
#pragma unroll
        for (int i = 0; i < kOfRow; ++i) {
          const int run = (first + b) / 2, e = (first + b) % 2;
          Accumulator mine[2];
          sums.get(i / 2, i % 2, run, mine);
          to.take(held[b][i], reinterpret_cast<Accumulator(&)[1]>(mine[e]));
          sums.set(i / 2, i % 2, run, mine);
        }
      }
    }
  }
};

}  // namespace tilesmith
