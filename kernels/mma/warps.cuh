// How a block of the family `mma` is made of warps: which multiply, what each of them multiplies, and which copy.
#pragma once

#include "kernels/mma/instruction.cuh"

namespace tilesmith {

constexpr int kWarpsM = kBlockM / kWarpM;
constexpr int kWarpsN = kBlockN / kWarpN;
constexpr int kWarpsOfSlice = kWarpsM * kWarpsN;
constexpr int kMultiplyingThreads = kWarpsOfSlice * kSliceK * 32;
constexpr int kLeftCount = (kSwap ? kWarpN : kWarpM) / 16;  // of the sides (instruction.cuh), 16 rows each
constexpr int kRightCount = (kSwap ? kWarpM : kWarpN) / 16;

// With the tensor memory accelerator a warp beside them copies. Where the sums and fragments of a thread are many and
// the SM is to hold 8 warps of them, it comes with three idle ones, and these four give their registers to the others.
constexpr int kHeldRegisters = kWarpM * kWarpN * int(sizeof(Accumulator)) / 128 +
                               kFragBuffers * (kWarpM + kWarpN) * kSlabK * int(sizeof(Operand)) / 128;
constexpr bool kTradesRegisters = kTma && kHeldRegisters >= 128 && kMultiplyingThreads * kMinBlocks >= 256;
constexpr int kCopyingThreads = kTradesRegisters ? 128 : kTma ? 32 : 0;
constexpr int kThreads = kMultiplyingThreads + kCopyingThreads;
constexpr int kLaunchRegisters = 65536 / kMinBlocks / kThreads / 8 * 8;  // a thread, before the trade
constexpr int kCopyingRegisters = 24;
constexpr int kMultiplyingRegisters =
    (kLaunchRegisters * kThreads - kCopyingRegisters * kCopyingThreads) / kMultiplyingThreads / 8 * 8;
static_assert(!kTradesRegisters || kMultiplyingThreads % 128 == 0,
              "registers are traded by whole groups of four warps");

static_assert(kBlockM % kWarpM == 0 && kBlockN % kWarpN == 0, "a block's tile must split into whole tiles of warps");
static_assert(kWarpM % 16 == 0 && kWarpN % 16 == 0, "a warp's tile must split into 16 rows and 16 columns");

// In the copying warps: gives registers away. In the others: takes them.
template <bool Copying>
__device__ __forceinline__ void trade_registers() {
  if constexpr (kTradesRegisters && Copying) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCopyingRegisters));
  } else if constexpr (kTradesRegisters) {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kMultiplyingRegisters));
  }
}

// All threads that multiply: a barrier's cost is theirs alone, and the copying warp may have ended.
__device__ __forceinline__ void sync_threads() {
  if constexpr (kTma) {
    asm volatile("bar.sync 1, %0;" ::"n"(kMultiplyingThreads) : "memory");
  } else {
    __syncthreads();
  }
}

struct WarpPlace {
  int slice, m0, n0;  // which share of the slabs; the warp's first row and column within the block's tile

  __device__ __forceinline__ WarpPlace() {
    const int warp = int(threadIdx.x / 32);
    slice = kSliceK == 1 ? 0 : warp / kWarpsOfSlice;
    m0 = warp % kWarpsOfSlice / kWarpsN * kWarpM;
    n0 = warp % kWarpsN * kWarpN;
  }
};

struct WarpTile {
  Sums sums[kLeftCount][2 * kRightCount];  // of products: [16 rows][8 columns]

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (auto& row : sums) {
#pragma unroll
      for (Sums& one : row) tilesmith::clear(one);
    }
  }

  // Forth and back, so that a product's right operand is often its neighbour's.
  __device__ __forceinline__ void multiply_row(int i, const Rows16& left,
                                               const Rows16 (&right)[kRightCount][kRightLoads], unsigned metadata,
                                               int slab) {
#pragma unroll
    for (int step = 0; step < 2 * kRightCount; ++step) {
      const int j = i % 2 == 0 ? step : 2 * kRightCount - 1 - step;
      multiply(sums[i][j], left, right[j / 2], j % 2, metadata, slab);
    }
  }

  // 16 columns at a time: where fragments are loaded as they are used, fewer registers hold them.
  __device__ __forceinline__ void multiply_column(int j, const Rows16 (&left)[kLeftCount],
                                                  const Rows16 (&right)[kRightLoads],
                                                  const unsigned (&metadata)[kLeftCount], int slab) {
#pragma unroll
    for (int step = 0; step < 2 * kLeftCount; ++step) {
      const int i = j % 2 == 0 ? step / 2 : kLeftCount - 1 - step / 2, half = step % 2;
      multiply(sums[i][2 * j + half], left[i], right, half, metadata[i], slab);
    }
  }

  // Three products, the small ones first. Those of a slab are added up from zero in the tensor core, which truncates,
  // and then rounded to nearest into the sums, by FADD.
  template <typename Split>
  __device__ __forceinline__ void multiply_split_row(int i, const Split& left, const Split (&right)[kRightCount]) {
    constexpr int kAtATime = kRightCount % 2 == 0 ? 4 : 2;  // independent products, whose latency hides each other's
#pragma unroll
    for (int first = 0; first < 2 * kRightCount; first += kAtATime) {
      Sums products[kAtATime];
#pragma unroll
      for (Sums& of : products) tilesmith::clear(of);
#pragma unroll
      for (int j = 0; j < kAtATime; ++j) multiply(products[j], left.small, &right[(first + j) / 2].big, j % 2);
#pragma unroll
      for (int j = 0; j < kAtATime; ++j) multiply(products[j], left.big, &right[(first + j) / 2].small, j % 2);
#pragma unroll
      for (int j = 0; j < kAtATime; ++j) multiply(products[j], left.big, &right[(first + j) / 2].big, j % 2);
#pragma unroll
      for (int j = 0; j < kAtATime; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[i][first + j].c[e] += products[j].c[e];
      }
    }
  }
};

}  // namespace tilesmith
