// The steps of a slice: a ring of kStages, whose copies run kStages − 1 steps ahead, with one barrier a step.
//
// Where scales go is kScaleSums. Onto the numbers, 4 multiplications for 8 weights. Or onto sums of as many columns as
// share one: 4 additions for a product's sums, however many columns that is, and exact. The one pays where A has many
// rows, the other where it has few.
#pragma once

#include "kernels/dequant/copy.cuh"
#include "kernels/shared/multiply/codes.cuh"

namespace tilesmith {

// Dᵀ of the warp: rows g and g + 8 of a strip, rows 2t and 2t + 1 of A in a tile of tokens.
struct WarpSums {
  float of[kStrips][kTokenTiles][4] = {};
};

__device__ __forceinline__ void multiply(float (&sums)[4], const Fragment& left, unsigned right0, unsigned right1) {
  if constexpr (kOperandIsBf16) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(left.pair[0]), "r"(left.pair[1]), "r"(left.pair[2]), "r"(left.pair[3]), "r"(right0), "r"(right1));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(left.pair[0]), "r"(left.pair[1]), "r"(left.pair[2]), "r"(left.pair[3]), "r"(right0), "r"(right1));
  }
}

// Four 8 × 8 matrices of 8 rows of A: 32 columns, two steps of 16.
__device__ __forceinline__ void load_right(unsigned (&to)[4], unsigned a, int tile, int column) {
  const int lane = int(threadIdx.x % 32), row = tile * kTokens + lane % 8, chunk = column / 8 + lane / 8;
  const unsigned from = a + row * (kStepK * 2) + (chunk ^ row % 8) * 16;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(from));
}

__device__ __forceinline__ uint4 load_codes(unsigned from) {
  uint4 codes;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(codes.x), "=r"(codes.y), "=r"(codes.z), "=r"(codes.w) : "r"(from));
  return codes;
}

__device__ __forceinline__ float load_scale(unsigned from) {
  if constexpr (sizeof(WeightScale) == 4) {
    float value;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(from));
    return value;
  } else {
    unsigned short bits;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(bits) : "r"(from));
    return float(reinterpret_cast<const WeightScale&>(bits));
  }
}

// In A's type, twice in a register.
__device__ __forceinline__ unsigned load_pair(unsigned from) {
  const Operand value(load_scale(from));  // as it is, where it has A's type
  return reinterpret_cast<const unsigned short&>(value) * 0x10001u;
}
__device__ __forceinline__ RowPair load_rows(unsigned scales, int row) {
  return {load_pair(scales + row * int(sizeof(WeightScale))), load_pair(scales + (row + 8) * int(sizeof(WeightScale)))};
}

// The warp's products of a step.
__device__ __forceinline__ void multiply_step(WarpSums& sums, unsigned stage, const Place& place) {
  const int lane = int(threadIdx.x % 32), g = lane / 4, first_strip = place.warp_n * kStrips;
  const unsigned a = stage + kBytesOfWeights, all_scales = a + kBytesOfA;
  uint4 codes[kStrips];
#pragma unroll
  for (int first = 0; first < kWarpColumns; first += kScaledColumns) {
    const int column = place.warp_k * kWarpColumns + first;  // of the step
    const unsigned scales = all_scales + (kGroupsOfStep == 1 ? 0 : column / (kStepK / kGroupsOfStep)) *
                                             (kBlockN * int(sizeof(WeightScale)));
    RowPair factors[kStrips], zeros[kStrips];
    float products[kScaleSums ? kStrips : 1][kTokenTiles][4] = {};
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      const int row = (first_strip + s) * kStripRows + g;
      if constexpr (!kScaleSums) factors[s] = load_rows(scales, row);
      if constexpr (kWeightZeros) zeros[s] = load_rows(scales + kBytesOfScales, row);
    }
#pragma unroll
    for (int part = 0; part < kScaledColumns; part += 32) {
      if ((first + part) % kWeightColumns == 0) {
#pragma unroll
        for (int s = 0; s < kStrips; ++s) {
          const unsigned block = (first_strip + s) * (kStepK / kWeightColumns) + (column + part) / kWeightColumns;
          codes[s] = load_codes(stage + block * kWeightBytes + lane * 16);
        }
      }
      unsigned right[kTokenTiles][4];
#pragma unroll
      for (int tile = 0; tile < kTokenTiles; ++tile) load_right(right[tile], a, tile, column + part);
#pragma unroll
      for (int s = 0; s < kStrips; ++s) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          Fragment left;
          numbers(left, codes[s], (first + part) % kWeightColumns / kProductK + half);
          if constexpr (kWeightZeros) take_zeros(left, zeros[s]);
          if constexpr (!kScaleSums) multiply_scales(left, factors[s]);
#pragma unroll
          for (int tile = 0; tile < kTokenTiles; ++tile)
            multiply(kScaleSums ? products[kScaleSums ? s : 0][tile] : sums.of[s][tile], left, right[tile][2 * half],
                right[tile][2 * half + 1]);
        }
      }
    }
    if constexpr (kScaleSums) {
#pragma unroll
      for (int s = 0; s < kStrips; ++s) {
        const int row = (first_strip + s) * kStripRows + g;
        const float low = load_scale(scales + row * int(sizeof(WeightScale))),
                    high = load_scale(scales + (row + 8) * int(sizeof(WeightScale)));
#pragma unroll
        for (int tile = 0; tile < kTokenTiles; ++tile) {
#pragma unroll
          for (int e = 0; e < 4; ++e) sums.of[s][tile][e] += (e < 2 ? low : high) * products[s][tile][e];
        }
      }
    }
  }
}

__device__ __forceinline__ void accumulate(
    WarpSums& sums, const GemmArgs& args, const Place& place, unsigned char* shared) {
  const unsigned stages = unsigned(__cvta_generic_to_shared(shared));
  Copies copies(args, place);
#pragma unroll 1
  for (int ahead = 0; ahead < kStages - 1; ++ahead) {
    if (ahead < place.steps) copies.next(stages + ahead * kStageBytes);
    close_copies();
  }
  unsigned from = stages, to = stages + (kStages - 1) * kStageBytes;
  const auto next = [&](unsigned stage) {
    return stage == stages + (kStages - 1) * kStageBytes ? stages : stage + kStageBytes;
  };
#pragma unroll 1
  for (int step = 0; step < place.steps; ++step) {
    wait_for_copies<kStages - 2>();
    __syncthreads();  // all have copied, and are done with the stage that is filled next
    if (step + kStages - 1 < place.steps) copies.next(to);
    close_copies();
    multiply_step(sums, from, place);
    from = next(from);
    to = next(to);
  }
  wait_for_copies<0>();
  __syncthreads();  // the stages are free for sums
}

}  // namespace tilesmith
