// What an epilogue reads besides the sums is loaded into registers before the block multiplies, so that nothing is
// waited for between the products and the stores. A copy in shared memory would need room and barriers; only few tiles
// lack the registers.
//
// A vector along the runs is spread over the lanes: each keeps its part of every eighth run, and shuffles bring it
// where it is used:
//
//   lane   0 1 2 3   4 5 6 7   ...   28 .. 31      The four threads that share a run take two neighbours each, and find them in the lane
//   keeps  run 0     run 1           run 7         that has their place among the run's four.
//          run 8     run 9           run 15
#pragma once

#include "kernels/shared/finish/gate_sums.cuh"
#include "kernels/wgmma/group_tile.cuh"

namespace tilesmith {

constexpr int kGrantedThreads =
    (Trade::kThreads + 127) / 128 * 128;  // registers are granted to warps of four schedulers alike
constexpr int kGrantedRegisters = 65536 / kMinBlocks / kGrantedThreads / 8 * 8;
// To blocks of 512 threads ptxas gives no more than at the launch (geometry.cpp).
constexpr int kMostRegisters = kTradesRegisters && Trade::kThreads < 512 ? Trade::kMultiplying : kGrantedRegisters;
constexpr int kRegistersOfThread = kMostRegisters < 240 ? kMostRegisters : 240;
// Registers for products, vectors and stores, besides those of sums and of what C holds.
constexpr int kRegistersBeside =
    (kHasBias || kHasScales || kActivates ? 68 : 44) + (kSharingBlocks > 1 ? 8 : 0) + (kIsBatched ? 16 : 0);

// Item: what a run takes, of kWords words.
template <typename Item, int kRuns>
class Dealt {
  static constexpr int kKept = (kRuns + 7) / 8;

 public:
  // load(kept, run_of): kept[i] ← what run run_of(i) takes, for all i. Runs from kRuns on are none.
  template <typename Load>
  __device__ __forceinline__ void load(Load load) {
    const int first = int(threadIdx.x % 32 / 4);
    load(kept_, [first](int i) { return 8 * i + first; });
  }

  // By a whole warp: items[i] ← what run first + i takes.
  template <int Count>
  __device__ __forceinline__ void deal(int first, Item (&items)[Count]) const {
    const int place = int(threadIdx.x % 4);
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      const int run = first + i;
      if (run >= kRuns) break;
#pragma unroll
      for (int word = 0; word < Item::kWords; ++word)
        items[i].set_word(word, __shfl_sync(0xffffffff, kept_[run / 8].word(word), run % 8 * 4 + place));
    }
  }

 private:
  Item kept_[kKept];
};

template <typename Sums>
class VectorsAhead {
  using Places = VectorPlaces<Sums>;
  static constexpr int kRows = 2 * Sums::kRowGroups;

 public:
  static constexpr int at_a_time(int words) { return 8 / words; }

  // (m0, n0): where the warp's tile lies in D.
  __device__ __forceinline__ void load(const Destination& to, int m0, int n0) {
    const SumsPlace<Sums> place(to, m0, n0);
    const VectorsInMemory<Sums> memory(to, m0, n0);
    const auto load_along = [&](auto& dealt, const auto* vector) {
      dealt.load([&](auto& kept, const auto& run_of) {
        load_runs(kept, vector, place.runs_end, [&](int i) {
          return run_of(i) < Sums::kRunsPerRow ? place.runs_at + Sums::offset(run_of(i)) : place.runs_end;
        });
      });
    };
    if constexpr (Places::kScalesEachRun) load_along(scales_, scales_along<Sums>(to));
    if constexpr (Places::kScalesRuns && !Places::kScalesEachRun) one_scale_ = memory.one_scale();
    if constexpr (Places::kBiasAlongRuns) load_along(biases_, to.bias());
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      if constexpr (Places::kScalesRows) scale_of_row_[row] = memory.scale_of_row(row);
      if constexpr (Places::kBiasAcrossRuns) bias_of_row_[row] = memory.bias_of_row(row);
    }
  }

  template <int Count>
  __device__ __forceinline__ void scales(int first, VectorRun<float, Sums::kRun> (&runs)[Count]) const {
    scales_.deal(first, runs);
  }
  template <int Count>
  __device__ __forceinline__ void biases(int first, VectorRun<BiasType, Sums::kRun> (&runs)[Count]) const {
    biases_.deal(first, runs);
  }
  __device__ __forceinline__ float one_scale() const { return one_scale_; }
  __device__ __forceinline__ float scale_of_row(int row) const { return scale_of_row_[row]; }
  __device__ __forceinline__ BiasType bias_of_row(int row) const { return bias_of_row_[row]; }

 private:
  Dealt<VectorRun<float, Sums::kRun>, Sums::kRunsPerRow> scales_;
  Dealt<VectorRun<BiasType, Sums::kRun>, Sums::kRunsPerRow> biases_;
  float one_scale_, scale_of_row_[kRows];
  BiasType bias_of_row_[kRows];
};

// What C holds of a warp's tile, in the layout of its sums.
template <typename Sums>
class HeldAhead {
  static constexpr int kAlongN = Sums::kSwapped ? 1 : Sums::kRun;  // neighbours in a row of C
  static constexpr int kLoads = Sums::kRun / kAlongN, kRows = 2 * Sums::kRowGroups;
  static constexpr int kWords = kRows * Sums::kRunsPerRow * kLoads * ((kAlongN * int(sizeof(Stored)) + 3) / 4);

 public:
  static constexpr bool kFits = kHeldRegisters + kWords + kRegistersBeside <= kRegistersOfThread;

  // Whether it is brought: there is something to bring, and it consists of whole runs. The same for the whole launch.
  static __device__ __forceinline__ bool is_brought(const Destination& to) {
    return kFits && !to.overwrites() && to.is_whole_runs<kAlongN>();
  }

  // (m0, n0): where the warp's tile lies in C. Loads take the first cache a while, and a persistent block would begin
  // to multiply as much later: there a few are started beside each of an item's first steps, if it has enough of them,
  // else all at once.
  __device__ __forceinline__ void load(const Destination& to, int m0, int n0, int steps) {
    parts_ = 0;
    if (!is_brought(to)) return;
    if (kPersistent && steps >= kParts) {
      parts_ = kParts;
    } else {
#pragma unroll
      for (int number = 0; number < kNumber; ++number) load_one(to, m0, n0, number);
    }
  }
  __device__ __forceinline__ bool goes_on(int step) const { return kFits && kPersistent && step < parts_; }
  __device__ __forceinline__ void go_on(const Destination& to, int m0, int n0, int step) {
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      if (step != part) continue;
#pragma unroll
      for (int i = 0; i < kOfPart; ++i) {
        if (part * kOfPart + i < kNumber) load_one(to, m0, n0, part * kOfPart + i);
      }
    }
  }

  // sums ← α·sums + β·C
  __device__ __forceinline__ void blend_into(Sums& sums, const Destination& to) {
    if constexpr (kFits) {
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
#pragma unroll
        for (int run = 0; run < Sums::kRunsPerRow; ++run) {
          Accumulator mine[Sums::kRun];
          sums.get(row / 2, row % 2, run, mine);
#pragma unroll
          for (int load = 0; load < kLoads; ++load)
            to.take(held_[row][run][load], reinterpret_cast<Accumulator(&)[kAlongN]>(mine[load * kAlongN]));
          sums.set(row / 2, row % 2, run, mine);
        }
      }
    }
  }

 private:
  static constexpr int kNumber = kRows * Sums::kRunsPerRow * kLoads, kOfPart = 8,
                       kParts = (kNumber + kOfPart - 1) / kOfPart;

  __device__ __forceinline__ void load_one(const Destination& to, int m0, int n0, int number) {
    const int load = number % kLoads, run = number / kLoads % Sums::kRunsPerRow,
              row = number / kLoads / Sums::kRunsPerRow;
    const int along = Sums::first_column() + Sums::offset(run) + load, across = Sums::row(row / 2, row % 2);
    const int m = m0 + (Sums::kSwapped ? along : across), n = n0 + (Sums::kSwapped ? across : along);
    if (to.left(m, n) > 0) held_[row][run][load].load(to.held_at(m, n));
  }

  int parts_;  // that are started beside as many steps
  Held<kAlongN> held_[kRows][Sums::kRunsPerRow][kLoads];
};

// All of it, for a warp's tile.
template <typename Sums>
class FusedAhead {
 public:
  // Whether what C holds is brought to registers; else it is to the L2 (fetch_held()).
  __device__ __forceinline__ bool brings_held(const Destination& to) const { return HeldAhead<Sums>::is_brought(to); }

  // (m0, n0): where the warp's tile lies in D.
  __device__ __forceinline__ void load(const Destination& to, int m0, int n0, int steps) {
    vectors_.load(to, m0, n0);
    held_.load(to, m0, n0, steps);
  }
  // While the products of a step are under way: whether something is left to be brought, and a part of it.
  __device__ __forceinline__ bool goes_on(int step) const { return held_.goes_on(step); }
  __device__ __forceinline__ void go_on(const Destination& to, int m0, int n0, int step) {
    held_.go_on(to, m0, n0, step);
  }

  // Returns where the sums go now.
  __device__ __forceinline__ Destination finish(GroupTile& tile, const Destination& to, int m0, int n0) {
    Sums sums(tile);
    asm volatile("" : "+r"(m0), "+r"(n0));  // what is derived from them is not computed ahead, beside all the sums
    return tilesmith::fuse(sums, to, vectors_, [&] {
      if (HeldAhead<Sums>::is_brought(to)) {
        held_.blend_into(sums, to);
      } else {
        blend<kBlendsFew<Sums, 144>, false>(sums, to.held(), m0, n0);
      }
    });
  }

 private:
  VectorsAhead<Sums> vectors_;
  HeldAhead<Sums> held_;
};

// The same of a gate: what C holds is not read.
template <typename Product>
class GatedAhead {
  static constexpr int kRuns = Product::kRunsPerRow / 2, kRows = 2 * Product::kRowGroups;

  class Vectors {
   public:
    static constexpr int at_a_time(int words) { return words > 8 ? 2 : words > 4 ? 4 : 8; }

    __device__ __forceinline__ void load(const Destination& to, int m0, int pair0) {
      const PairVectorsInMemory<Product> memory(to, m0, pair0);
      const auto load_along = [&](auto& dealt, const auto* vector) {
        dealt.load([&](auto& kept, const auto& run_of) {
          load_pairs(kept, vector, to.pairs(), [&](int i) { return memory.pair_of(run_of(i)); });
        });
      };
      if constexpr (kScaleEachColumn) load_along(scales_, to.scale_n());
      if constexpr (kScaleN && !kScaleEachColumn) one_scale_ = memory.one_scale();
      if constexpr (kBiasAlongN) load_along(biases_, to.bias());
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
        if constexpr (kScaleM) scale_of_row_[row] = memory.scale_of_row(row);
        if constexpr (kBiasAlongM) bias_of_row_[row] = memory.bias_of_row(row);
      }
    }

    template <int Count>
    __device__ __forceinline__ void scales(int first, OfPairs<float> (&pairs)[Count]) const {
      scales_.deal(first, pairs);
    }
    template <int Count>
    __device__ __forceinline__ void biases(int first, OfPairs<BiasType> (&pairs)[Count]) const {
      biases_.deal(first, pairs);
    }
    __device__ __forceinline__ float one_scale() const { return one_scale_; }
    __device__ __forceinline__ float scale_of_row(int row) const { return scale_of_row_[row]; }
    __device__ __forceinline__ BiasType bias_of_row(int row) const { return bias_of_row_[row]; }

   private:
    Dealt<OfPairs<float>, kRuns> scales_;
    Dealt<OfPairs<BiasType>, kRuns> biases_;
    float one_scale_, scale_of_row_[kRows];
    BiasType bias_of_row_[kRows];
  };

 public:
  __device__ __forceinline__ bool brings_held(const Destination&) const { return false; }

  // (m0, pair0): where the warp's tile lies in D.
  __device__ __forceinline__ void load(const Destination& to, int m0, int pair0, int) { vectors_.load(to, m0, pair0); }
  __device__ __forceinline__ bool goes_on(int) const { return false; }
  __device__ __forceinline__ void go_on(const Destination&, int, int, int) {}
  // Returns where the sums go now.
  __device__ __forceinline__ Destination finish(GroupTile& tile, const Destination& to, int, int) const {
    return gate(Product(tile), to, vectors_);
  }

 private:
  Vectors vectors_;
};

// Where sums are finished as they leave shared memory, as slices are added, or one by one; or where there is no
// epilogue.
class NothingAhead {
 public:
  __device__ __forceinline__ bool brings_held(const Destination&) const { return false; }
  __device__ __forceinline__ void load(const Destination&, int, int, int) {}
  __device__ __forceinline__ bool goes_on(int) const { return false; }
  __device__ __forceinline__ void go_on(const Destination&, int, int, int) {}
  __device__ __forceinline__ Destination finish(GroupTile&, const Destination& to, int, int) const { return to; }
};

}  // namespace tilesmith
