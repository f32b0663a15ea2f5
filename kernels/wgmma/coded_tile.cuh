// What a warpgroup multiplies of weights in 4 bits and an A of 8 bits (kernels/shared/multiply/weights_layout8.cuh),
// floats or integers.
//
//   part   the products of a group of K with codes as bytes      tensor cores, from zero
//   sums   += part · the scale of the weights' row and group     CUDA cores, in f32
//
// A step's bytes are made while the step before is added, in the same instructions' shadow, and while the other group's
// products run. (While a group's own products run, making them takes longer.) A step's scales are loaded kAhead steps
// before.
#pragma once

#include "kernels/shared/multiply/code_bytes.cuh"
#include "kernels/wgmma/copy.cuh"
#include "kernels/wgmma/scale_counts.cuh"
#include "kernels/wgmma/tile_sums.cuh"

namespace tilesmith {

// The block's named barriers.
enum BarrierName { kReady = 1, kRead = 2 };

// The compiler must not read a part before the products have ended.
__device__ __forceinline__ void keep_behind_wait(float& part) { asm volatile("" : "+f"(part)::"memory"); }
__device__ __forceinline__ void keep_behind_wait(int& part) { asm volatile("" : "+r"(part)::"memory"); }

// The bytes of a step's codes in a stage.
template <typename Tile>
class CodeBytes : public PlainLeft {
  using Words = unsigned[4];
  static constexpr int kSlabsOfBlock = kCodeColumns / kSlabK;

 public:
  __device__ __forceinline__ void load_codes(unsigned stage, int group) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
#pragma unroll
    for (int i = 0; i < kLeftTiles; ++i) {
      const unsigned strip = unsigned(group * (kGroupRows / kCodeBlockRows) + 4 * i) + warp;
#pragma unroll
      for (int block = 0; block < Tile::kBlocks; ++block) {
        uint4& codes = codes_[i][block];
        const unsigned from = stage + (strip * Tile::kBlocks + block) * kCodeBlockBytes + lane * 16;
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(codes.x), "=r"(codes.y), "=r"(codes.z), "=r"(codes.w)
                     : "r"(from)
                     : "memory");
      }
    }
  }

  // Makes a slab's bytes from what was loaded. `tables`: one for row g, one for row g + 8 of 64.
  __device__ __forceinline__ void make(int i, int slab, const ByteTable (&tables)[2]) {
    const uint4& codes = codes_[i][slab / kSlabsOfBlock];
    const bool first = slab % kSlabsOfBlock == 0;
    Words& words = words_[i][slab];
    bytes_of_codes(words[0], words[1], first ? codes.x : codes.z, tables[0], tables[1]);
    bytes_of_codes(words[2], words[3], first ? codes.y : codes.w, tables[0], tables[1]);
#pragma unroll
    for (int w = 0; w < 4; ++w) asm volatile("" : "+r"(words[w])::"memory");  // before the fence of the products
  }

  __device__ __forceinline__ const Words& of(int i, int slab) const { return words_[i][slab]; }

 private:
  uint4 codes_[kLeftTiles][Tile::kBlocks];
  Words words_[kLeftTiles][kSlabs];
};

template <typename Left>
class CodedTile : public TileSums<Left> {
  using TileSums<Left>::left_;
  using TileSums<Left>::sums_;

  static_assert(!kHasWeights || (kCodeColumns == 2 * kSlabK && RightTile::kKMajor && kSwap != 0));
  static constexpr int kGroups =
      kWeightGroup == 0 || kWeightGroup >= kBlockK ? 1 : kBlockK / kWeightGroup;  // of a step
  static constexpr int kSlabsOfGroup = kSlabs / kGroups;
  static constexpr int kAhead =
      coded_steps_ahead(kGroups * kLeftTiles * 2 * (kWeightZeros ? 2 : 1), kLeftTiles * kTileRegisters);

  using Part = Either<kOperandIsSigned, int, float>;

  // The scales and zeros of a step, for rows g and g + 8 of each 64.
  struct Terms {
    WeightScale scales[kGroups][kLeftTiles][2], zeros[kGroups][kLeftTiles][2];
  };

 public:
  // Adds up the steps of an item.
  __device__ __forceinline__ void accumulate(RingReader& reader, const GemmArgs& args, const ItemWork& work,
                                             const WarpPlace& place, int group, bool) {
    const int steps = work.steps();
#pragma unroll
    for (auto& of_tile : sums_) {
#pragma unroll
      for (float& sum : of_tile) sum = 0;
    }
    const int row = work.n0 + place.n0 + int(threadIdx.x % 32 / 4);
    int k = work.k0;
    Terms coming[kAhead];
    const auto load = [&](Terms& terms) {
      fetch(terms, args, row, k);
      k += kNextStep;
    };
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      if (u < steps) load(coming[u]);
    }
    if (steps == 0) return;
    unsigned stage = reader.wait_for_step();
    left_.load_codes(stage, group);
    make_bytes(coming[0]);
    // Whole rounds and the rest are apart, as in scaled_tile.cuh.
    int first = 0;
    for (; first + kAhead < steps; first += kAhead) round<0>(reader, group, coming, load, first, steps, stage);
    rest<0>(reader, group, coming, first, steps, stage);
  }

 private:
  // Rows beyond N and groups beyond K take those of the last ones: their results are not stored, or their products are
  // with zeros of A.
  static __device__ __forceinline__ void fetch(Terms& terms, const GemmArgs& args, int row, int k) {
    constexpr int kLength = kWeightGroup == 0 ? 1 : kWeightGroup;
    const int last = kWeightGroup == 0 ? 0 : args.k / kLength - 1;
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      const long long first = static_cast<long long>(kWeightGroup == 0 ? 0 : min(k / kLength + group, last)) * args.n;
#pragma unroll
      for (int i = 0; i < kLeftTiles; ++i) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const long long at = first + min(row + 64 * i + 8 * r, args.n - 1);
          terms.scales[group][i][r] = static_cast<const WeightScale*>(args.scales)[at];
          if constexpr (kWeightZeros) terms.zeros[group][i][r] = static_cast<const WeightScale*>(args.zeros)[at];
        }
      }
    }
  }

  __device__ __forceinline__ void make_bytes(const Terms& terms) {
#pragma unroll
    for (int of_step = 0; of_step < kGroups; ++of_step) {
      // More tables at a time, or tables beside what is added, would not fit the registers.
      if constexpr (kWeightZeros) __syncwarp();
#pragma unroll
      for (int i = 0; i < kLeftTiles; ++i) {
        ByteTable tables[2];
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          if constexpr (kWeightZeros) {
            tables[r] = table_of_zero(float(terms.zeros[of_step][i][r]));
          } else {
            constexpr ByteTable kTable = byte_table(kWeightOffset);
            tables[r] = kTable;
          }
        }
#pragma unroll
        for (int slab = 0; slab < kSlabsOfGroup; ++slab) left_.make(i, of_step * kSlabsOfGroup + slab, tables);
      }
    }
  }

  // part ← bytes · right of a group of K, asynchronous.
  __device__ __forceinline__ void start(unsigned stage, int of_step) {
    const Descriptors<RightTile> right(stage + LeftTile::kBytes);
    begin_products();
#pragma unroll
    for (int of_group = 0; of_group < kSlabsOfGroup; ++of_group) {
      const int slab = of_step * kSlabsOfGroup + of_group;
#pragma unroll
      for (int i = 0; i < kLeftTiles; ++i)
        multiply(part_[i], left_.of(i, slab), right.at(RightTile::offset(0, slab)), of_group > 0);
    }
    end_products();
  }

  // Step U of a round, whose bytes are there. It leaves those of the next step, and where that lies.
  template <int U, bool Last>
  __device__ __forceinline__ void do_step(
      RingReader& reader, int group, const Terms (&coming)[kAhead], unsigned& stage) {
    unsigned next = stage;
#pragma unroll
    for (int of_step = 0; of_step < kGroups; ++of_step) {
      const bool ends = of_step == kGroups - 1;
      start(stage, of_step);
      if (ends && !Last) {
        next = reader.wait_for_step();
        left_.load_codes(next, group);
      }
      wait_for_products<0>();
      if (ends) reader.release<kSharingBlocks>();
      add(coming[U].scales[of_step]);
      if (ends && !Last) make_bytes(coming[(U + 1) % kAhead]);
    }
    stage = next;
  }
  template <int U, typename Load>
  __device__ __forceinline__ void round(RingReader& reader, int group, Terms (&coming)[kAhead], const Load& load,
      int first, int steps, unsigned& stage) {
    do_step<U, false>(reader, group, coming, stage);
    if (first + U + kAhead < steps) load(coming[U]);
    if constexpr (U + 1 < kAhead) round<U + 1>(reader, group, coming, load, first, steps, stage);
  }
  template <int U>
  __device__ __forceinline__ void rest(
      RingReader& reader, int group, const Terms (&coming)[kAhead], int first, int steps, unsigned& stage) {
    if (U + 1 == kAhead || first + U + 1 == steps) {
      do_step<U, true>(reader, group, coming, stage);
    } else if constexpr (U + 1 < kAhead) {
      do_step<U, false>(reader, group, coming, stage);
      rest<U + 1>(reader, group, coming, first, steps, stage);
    }
  }

  // sums += part · scales.
  __device__ __forceinline__ void add(const WeightScale (&scales)[kLeftTiles][2]) {
#pragma unroll
    for (int i = 0; i < kLeftTiles; ++i) {
      const float factors[2] = {float(scales[i][0]) * kByteUnits, float(scales[i][1]) * kByteUnits};
#pragma unroll
      for (int s = 0; s < kTileRegisters; ++s) {
        keep_behind_wait(part_[i][s]);
        sums_[i][s] += float(part_[i][s]) * factors[s / 2 % 2];
      }
    }
  }

  Part part_[kLeftTiles][kTileRegisters];
};

}  // namespace tilesmith
