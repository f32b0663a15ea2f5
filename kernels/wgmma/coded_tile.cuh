// What a warpgroup multiplies of weights in 4 bits and an A of 8 bits (kernels/shared/multiply/weights_layout8.cuh),
// floats or integers.
//
//   part   the products of a group of K with codes as bytes      tensor cores, from zero
//   sums   += part · the scale of the weights' row and group     CUDA cores, in f32
//
// Bytes of a slab are made while the products of the slab before run. Two groups start their products in turns: one
// makes bytes and adds while the other's products run. A step's scales are loaded kAhead steps before.
#pragma once

#include "kernels/shared/multiply/code_bytes.cuh"
#include "kernels/wgmma/copy.cuh"
#include "kernels/wgmma/scale_counts.cuh"
#include "kernels/wgmma/tile_sums.cuh"

namespace tilesmith {

// The block's named barriers.
enum BarrierName { kReady = 1, kRead = 2, kTurnOfFirst = 3, kTurnOfSecond = 4 };

// Two groups in turns: each waits for its own, and gives the other one's. Before the first item the first group's is
// given; behind the last one it takes a turn that nobody waits for.
constexpr bool kTakesTurns = kHasWeights && kTileGroups == 2;
__device__ __forceinline__ void wait_for_turn(int group) {
  if constexpr (kTakesTurns)
    group == 0 ? sync_some<kTurnOfFirst, kMultiplyingThreads>() : sync_some<kTurnOfSecond, kMultiplyingThreads>();
}
__device__ __forceinline__ void give_turn(int group) {
  if constexpr (kTakesTurns)
    group == 0 ? arrive_at_some<kTurnOfSecond, kMultiplyingThreads>()
               : arrive_at_some<kTurnOfFirst, kMultiplyingThreads>();
}
__device__ __forceinline__ void begin_turns(int group) {
  if (group == 1) give_turn(group);
}
__device__ __forceinline__ void end_turns(int group) {
  if (group == 0) wait_for_turn(group);
}

// The compiler must not read a part before the products have ended.
__device__ __forceinline__ void keep_behind_wait(float& part) { asm volatile("" : "+f"(part)::"memory"); }
__device__ __forceinline__ void keep_behind_wait(int& part) { asm volatile("" : "+r"(part)::"memory"); }

// A slab's bytes, of a step's codes in a stage.
template <typename Tile>
class CodeBytes : public PlainLeft {
  using Words = unsigned[4];
  static constexpr int kSlabsOfBlock = kCodeColumns / kSlabK;

 public:
  // `tables`: of rows g and g + 8 of each 64.
  __device__ __forceinline__ void load(
      unsigned stage, int group, int slab, const ByteTable (&tables)[kLeftTiles][2]) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
#pragma unroll
    for (int i = 0; i < kLeftTiles; ++i) {
      const unsigned strip = unsigned(group * (kGroupRows / kCodeBlockRows) + 4 * i) + warp;
      if (slab % kSlabsOfBlock == 0) {
        const unsigned from =
            stage + (strip * Tile::kBlocks + unsigned(slab / kSlabsOfBlock)) * kCodeBlockBytes + lane * 16;
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(codes_[i].x), "=r"(codes_[i].y), "=r"(codes_[i].z), "=r"(codes_[i].w)
                     : "r"(from)
                     : "memory");
      }
      const bool first = slab % kSlabsOfBlock == 0;
      Words& words = words_[i][slab];
      bytes_of_codes(words[0], words[1], first ? codes_[i].x : codes_[i].z, tables[i][0], tables[i][1]);
      bytes_of_codes(words[2], words[3], first ? codes_[i].y : codes_[i].w, tables[i][0], tables[i][1]);
#pragma unroll
      for (int w = 0; w < 4; ++w) asm volatile("" : "+r"(words[w])::"memory");  // before the fence of the products
    }
  }

  __device__ __forceinline__ const Words& of(int i, int slab) const { return words_[i][slab]; }

 private:
  uint4 codes_[kLeftTiles];
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
    for (int first = 0; first < steps; first += kAhead) {
#pragma unroll
      for (int u = 0; u < kAhead; ++u) {
        if (first + u == steps) break;
        const unsigned stage = reader.wait_for_step();
        const Descriptors<RightTile> right(stage + LeftTile::kBytes);
#pragma unroll
        for (int of_step = 0; of_step < kGroups; ++of_step) {
          multiply_group(stage, right, group, of_step, coming[u]);
          wait_for_products<0>();
          if (of_step == kGroups - 1) reader.release<kSharingBlocks>();
          add(coming[u].scales[of_step]);
        }
        if (first + u + kAhead < steps) load(coming[u]);
      }
    }
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

  // part ← codes · right of a group of K, asynchronous.
  __device__ __forceinline__ void multiply_group(
      unsigned stage, const Descriptors<RightTile>& right, int group, int of_step, const Terms& terms) {
    ByteTable tables[kLeftTiles][2];
#pragma unroll
    for (int i = 0; i < kLeftTiles; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        if constexpr (kWeightZeros) {
          tables[i][r] = table_of_zero(float(terms.zeros[of_step][i][r]));
        } else {
          constexpr ByteTable kTable = byte_table(kWeightOffset);
          tables[i][r] = kTable;
        }
      }
    }
    const int begin = of_step * kSlabsOfGroup, end = begin + kSlabsOfGroup;
    left_.load(stage, group, begin, tables);
    wait_for_turn(group);
#pragma unroll
    for (int slab = begin; slab < end; ++slab) {
      begin_products();
#pragma unroll
      for (int i = 0; i < kLeftTiles; ++i)
        multiply(part_[i], left_.of(i, slab), right.at(RightTile::offset(0, slab)), slab > begin);
      end_products();
      if (slab + 1 < end) left_.load(stage, group, slab + 1, tables);
    }
    if constexpr (kTakesTurns) wait_for_products<1>();  // the last slab's run while the other group's begin
    give_turn(group);
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
