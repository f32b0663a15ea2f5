// The steps of a slice: a ring of kStages, whose copies run kStages − 1 steps ahead, with one barrier a step.
//
// Where scales go is kScaleSums. Onto the numbers, 4 multiplications for 8 weights. Or onto sums of as many columns as
// share one: 4 additions for a product's sums, however many columns that is, and exact. The one pays where A has many
// rows, the other where it has few, or elements of 8 bits, beside which codes are multiplied as they are.
//
// Weights with minima (kIsQ4k) are w = scale·code − minimum, so that a group adds scale·(A·codes) − minimum·(sum of A).
// The sum of A is one more product, whose left operand is all ones, for all strips of the warp (warp_factors.cuh).
#pragma once

#include "kernels/dequant/copy.cuh"
#include "kernels/dequant/warp_factors.cuh"
#include "kernels/shared/either.cuh"
#include "kernels/shared/multiply/code_bytes.cuh"
#include "kernels/shared/multiply/codes.cuh"

namespace tilesmith {

// Dᵀ of the warp: rows g and g + 8 of a strip, rows 2t and 2t + 1 of A in a tile of tokens.
struct WarpSums {
  float of[kStrips][kTokenTiles][4] = {};
};

constexpr bool kOfBytes = kElementBytes == 1;
static_assert(!kOfBytes || kScaleSums, "codes as bytes have no scales");
static_assert(!kIsKQuant || kScaleSums, "a minimum multiplies a sum, and numbers times a scale would be rounded");
using Product = Either<kOfBytes && kOperandIsSigned, int, float>;

__device__ __forceinline__ void multiply(int (&sums)[4], const Fragment& left, unsigned right0, unsigned right1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(left.pair[0]), "r"(left.pair[1]), "r"(left.pair[2]), "r"(left.pair[3]), "r"(right0), "r"(right1));
}
__device__ __forceinline__ void multiply(float (&sums)[4], const Fragment& left, unsigned right0, unsigned right1) {
  if constexpr (kOfBytes) {
    asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(left.pair[0]), "r"(left.pair[1]), "r"(left.pair[2]), "r"(left.pair[3]), "r"(right0), "r"(right1));
  } else if constexpr (kOperandIsBf16) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(left.pair[0]), "r"(left.pair[1]), "r"(left.pair[2]), "r"(left.pair[3]), "r"(right0), "r"(right1));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(left.pair[0]), "r"(left.pair[1]), "r"(left.pair[2]), "r"(left.pair[3]), "r"(right0), "r"(right1));
  }
}

// 64 bytes of 8 rows of A as four 8 × 8 matrices of 16 bits, or 32 bytes as two: two products' columns, or one's.
template <int Matrices>
__device__ __forceinline__ void load_right(unsigned (&to)[Matrices], unsigned a, int tile, int column) {
  static_assert(Matrices == 2 || Matrices == 4);
  const int lane = int(threadIdx.x % 32), row = tile * kTokens + lane % 8,
            chunk = column * kElementBytes / 16 + lane / 8 % Matrices;
  const unsigned from = a + row * kRowBytes + (chunk ^ row % 8) * 16;
  if constexpr (Matrices == 4) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from));
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(to[0]), "=r"(to[1]) : "r"(from));
  }
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

struct FourOrEightBits {
  uint4 codes;

  __device__ __forceinline__ void load(unsigned block, int lane) { codes = load_codes(block + lane * 16); }
};
using LaneOfBlock = Either<kIsQ6k, SixBits, FourOrEightBits>;

// In A's type, twice in a register.
__device__ __forceinline__ unsigned load_pair(unsigned from) {
  const Operand value(load_scale(from));  // as it is, where it has A's type
  return reinterpret_cast<const unsigned short&>(value) * 0x10001u;
}
__device__ __forceinline__ RowPair load_rows(unsigned scales, int row) {
  return {load_pair(scales + row * int(sizeof(WeightScale))), load_pair(scales + (row + 8) * int(sizeof(WeightScale)))};
}

// What codes of a strip become numbers by, besides scales: zeros in A's type, or tables of bytes, of rows g and g + 8.
struct Zeros {
  RowPair rows;

  __device__ __forceinline__ void load(unsigned zeros, int row) {
    if constexpr (kWeightZeros) rows = load_rows(zeros, row);
  }
  // A product's columns of a lane's 16 bytes of a block of weights.
  __device__ __forceinline__ void numbers_of(Fragment& to, const uint4& codes, int product) const {
    numbers(to, codes, product);
    if constexpr (kWeightZeros) take_zeros(to, rows);
  }
};
struct Tables {
  ByteTable rows[2];

  __device__ __forceinline__ void load(unsigned zeros, int row) {
    if constexpr (kWeightZeros) {
      rows[0] = table_of_zero(load_scale(zeros + row * int(sizeof(WeightScale))));
      rows[1] = table_of_zero(load_scale(zeros + (row + 8) * int(sizeof(WeightScale))));
    } else {
      constexpr ByteTable kTable = byte_table(kWeightOffset);
      rows[0] = rows[1] = kTable;
    }
  }
  __device__ __forceinline__ void numbers_of(Fragment& to, const uint4& codes, int product) const {
    bytes_of_codes(to.pair[0], to.pair[1], product == 0 ? codes.x : codes.z, rows[0], rows[1]);
    bytes_of_codes(to.pair[2], to.pair[3], product == 0 ? codes.y : codes.w, rows[0], rows[1]);
  }
};

using MakesNumbers = Either<kIsQ4k, BiasedCodes, Either<kIsQ6k, SixBitNumbers, Either<kOfBytes, Tables, Zeros>>>;

// How a strip's products of a group are added to its sums: times the scale of their row, g or g + 8.
struct ScaledProducts {
  template <int Registers>
  __device__ __forceinline__ void take(const unsigned (&)[kTokenTiles][Registers]) {}
  // `row`: g of the strip in the block. `of_warp`: in the warp.
  __device__ __forceinline__ void add(float (&sums)[kTokenTiles][4], const Product (&products)[kTokenTiles][4],
      unsigned scales, const WarpFactors& factors, int group, int row, int of_warp) const {
    float low, high;
    if constexpr (kIsQ6k) {
      low = scale_of(factors.of[group][of_warp]);
      high = scale_of(factors.of[group][of_warp + 8]);
    } else {
      constexpr float kUnits = kOfBytes ? kByteUnits : 1.0F;
      low = load_scale(scales + row * int(sizeof(WeightScale))) * kUnits;
      high = load_scale(scales + (row + 8) * int(sizeof(WeightScale))) * kUnits;
    }
#pragma unroll
    for (int tile = 0; tile < kTokenTiles; ++tile) {
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[tile][e] += (e < 2 ? low : high) * float(products[tile][e]);
    }
  }
};
// Less the minimum of their row times the sum of A.
template <typename Factors>
struct ProductsLessMinima {
  float of_a[kTokenTiles][4] = {};  // all rows have the same

  template <int Registers>
  __device__ __forceinline__ void take(const unsigned (&right)[kTokenTiles][Registers]) {
    constexpr unsigned kOnes = kOperandIsBf16 ? 0x3f803f80u : 0x3c003c00u;
    const Fragment ones{{kOnes, kOnes, kOnes, kOnes}};
#pragma unroll
    for (int tile = 0; tile < kTokenTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < Registers; i += 2) multiply(of_a[tile], ones, right[tile][i], right[tile][i + 1]);
    }
  }
  __device__ __forceinline__ void add(float (&sums)[kTokenTiles][4], const Product (&products)[kTokenTiles][4], unsigned,
      const Factors& factors, int group, int, int of_warp) const {
    const GroupFactors low = factors.of[group][of_warp], high = factors.of[group][of_warp + 8];
#pragma unroll
    for (int tile = 0; tile < kTokenTiles; ++tile) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const GroupFactors& of_row = e < 2 ? low : high;
        sums[tile][e] += of_row.scale * float(products[tile][e]);
        sums[tile][e] -= of_row.minimum * of_a[tile][e];
      }
    }
  }
};

// The warp's products of a step, of some columns from `start` on. Of K-quants more than a block of weights at a time
// would spill.
constexpr int kColumnsAtOnce = kIsKQuant ? kWeightColumns : kWarpColumns;
__device__ __forceinline__ void multiply_columns(
    WarpSums& sums, unsigned stage, WarpFactors& warp_factors, const Place& place, int start) {
  const int lane = int(threadIdx.x % 32), g = lane / 4, first_strip = place.warp_n * kStrips;
  const unsigned a = stage + kBytesOfWeights, all_scales = a + kBytesOfA;
  LaneOfBlock blocks[kStrips];
  if constexpr (kIsKQuant) {
    const int column = place.warp_k * kWarpColumns + start;
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      const unsigned block = (first_strip + s) * (kStepK / kWeightColumns) + column / kWeightColumns;
      blocks[s].load(stage + block * kWeightBytes, lane);  // before factors are made: it takes as long
    }
    const unsigned supers = all_scales + kBytesOfScales +
                            (kSupersOfStep == 1 ? 0 : column / kSuperColumns) * (kBlockN * int(sizeof(Super)));
    warp_factors.make(all_scales + column / (kStepK / kScaleRows) * (kBlockN * int(sizeof(StoredScale))), supers,
        first_strip * kStripRows);
  }
#pragma unroll
  for (int first = 0; first < kColumnsAtOnce; first += kScaledColumns) {
    const int column = place.warp_k * kWarpColumns + start + first;  // of the step
    const unsigned scales = all_scales + (kScaleRows == 1 ? 0 : column / (kStepK / kScaleRows)) *
                                             (kBlockN * int(sizeof(StoredScale)));
    constexpr int kPart = kScaledColumns < 2 * kProductK ? kScaledColumns : 2 * kProductK;  // columns of A's loads
    RowPair factors[kStrips];
    MakesNumbers zeros[kStrips];
    Product products[kScaleSums ? kStrips : 1][kTokenTiles][4] = {};
    Either<kIsQ4k, ProductsLessMinima<WarpFactors>, ScaledProducts> finish;
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      const int row = (first_strip + s) * kStripRows + g;
      if constexpr (!kScaleSums) factors[s] = load_rows(scales, row);
      zeros[s].load(scales + kBytesOfScales, row);
    }
#pragma unroll
    for (int part = 0; part < kScaledColumns; part += kPart) {
      if (!kIsKQuant && (first + part) % kWeightColumns == 0) {
#pragma unroll
        for (int s = 0; s < kStrips; ++s) {
          const unsigned block = (first_strip + s) * (kStepK / kWeightColumns) + (column + part) / kWeightColumns;
          blocks[s].load(stage + block * kWeightBytes, lane);
        }
      }
      unsigned right[kTokenTiles][kPart * kElementBytes / 16];
#pragma unroll
      for (int tile = 0; tile < kTokenTiles; ++tile) load_right(right[tile], a, tile, column + part);
      finish.take(right);
#pragma unroll
      for (int s = 0; s < kStrips; ++s) {
#pragma unroll
        for (int half = 0; half < kPart / kProductK; ++half) {
          Fragment left;
          zeros[s].numbers_of(left, blocks[s].codes, (first + part) % kWeightColumns / kProductK + half);
          if constexpr (!kScaleSums) multiply_scales(left, factors[s]);
#pragma unroll
          for (int tile = 0; tile < kTokenTiles; ++tile) {
            const unsigned right0 = right[tile][2 * half], right1 = right[tile][2 * half + 1];
            if constexpr (kScaleSums) {
              multiply(products[s][tile], left, right0, right1);
            } else {
              multiply(sums.of[s][tile], left, right0, right1);
            }
          }
        }
      }
    }
    if constexpr (kScaleSums) {
#pragma unroll
      for (int s = 0; s < kStrips; ++s)
        finish.add(sums.of[s], products[s], scales, warp_factors, first / kScaledColumns,
            (first_strip + s) * kStripRows + g, s * kStripRows + g);
    }
  }
}

__device__ __forceinline__ void multiply_step(
    WarpSums& sums, unsigned stage, WarpFactors& factors, const Place& place) {
#pragma unroll 1
  for (int start = 0; start < kWarpColumns; start += kColumnsAtOnce)
    multiply_columns(sums, stage, factors, place, start);
}

__device__ __forceinline__ void accumulate(
    WarpSums& sums, const GemmArgs& args, const Place& place, unsigned char* shared) {
  const unsigned stages = unsigned(__cvta_generic_to_shared(shared));
  WarpFactors& factors =
      reinterpret_cast<WarpFactors*>(shared + kStages * kStageBytes)[kIsKQuant ? threadIdx.x / 32 : 0];
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
    multiply_step(sums, from, factors, place);
    from = next(from);
    to = next(to);
  }
  wait_for_copies<0>();
  __syncthreads();  // the stages are free for sums
}

}  // namespace tilesmith
