// How the threads of a block of the family `ffma` share its tile, and how a stage lies in shared memory.
//
//   a warp's tile: kLanesM × kLanesN threads; each has kThreadM × kThreadN elements of C, in pieces of 4 × 4
//
//            ← kLanesN · 4 →                          With thread_m = thread_n = 8 a thread has four pieces.
//          ┌───┬───┬───┬───┬───┬───┬───┬───┐          A warp's reads of a stage are runs of 16 bytes side by side.
//          │ 0 │ 1 │ 2 │...│   │   │   │ 7 │ 0 │ 1    Its stores of C are whole lines.
//          │ 8 │ 9 │   │   │   │   │   │   │ 8 │
//          ├───┼───┼───┼
//
//   a stage: a[k][m], then b[k][n]. Rows are padded where elements come one by one along K: 4 rows of 8 are then
//   written to 32 different banks.
#pragma once

#include "kernels/shared/work/overlap.cuh"
#include "kernels/shared/store/destination.cuh"

namespace tilesmith {

constexpr int kPiece = 4;  // elements that a thread reads together from shared memory: 16 bytes
constexpr int kLanesN = 32 / kLanesM;
constexpr int kWarpM = kLanesM * kThreadM;
constexpr int kWarpN = kLanesN * kThreadN;
constexpr int kWarpsM = kBlockM / kWarpM;
constexpr int kWarpsN = kBlockN / kWarpN;
constexpr int kThreadsOfSlice = kWarpsM * kWarpsN * 32;
constexpr int kThreads = kThreadsOfSlice * kSliceK;
constexpr int kPiecesM = kThreadM / kPiece;
constexpr int kPiecesN = kThreadN / kPiece;

static_assert(kBlockM % kWarpM == 0 && kBlockN % kWarpN == 0, "a block's tile must split into whole tiles of warps");
static_assert(kThreadM % kPiece == 0 && kThreadN % kPiece == 0, "a thread's tile must split into pieces");
constexpr int kElement = int(sizeof(Operand));
static_assert(kElement == 4, "copies and fragments are of words");

constexpr bool kAAlongK = !kTransA;  // rows of A, as it lies, run along K
constexpr bool kBAlongK = kTransB;
constexpr int kPad = 4;
constexpr int kStrideA = kBlockM + (kAAlongK ? kPad : 0);
constexpr int kStrideB = kBlockN + (kBAlongK ? kPad : 0);
constexpr int kElementsOfA = kBlockK * kStrideA;
constexpr int kStageBytes = (kElementsOfA + kBlockK * kStrideB) * kElement;
constexpr int kSumsOfSlices = (kSliceK - 1) * kBlockM * kBlockN * kElement;  // bytes, in the stages' place
constexpr int kSharedBytes = kStages * kStageBytes > kSumsOfSlices ? kStages * kStageBytes : kSumsOfSlices;

// Where a thread's tile lies in the block's; which share of a K-step it multiplies.
struct ThreadPlace {
  int m0, n0, slice;

  __device__ __forceinline__ ThreadPlace() {
    const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
    const int of_slice = warp % (kWarpsM * kWarpsN);
    slice = kSliceK == 1 ? 0 : warp / (kWarpsM * kWarpsN);
    m0 = of_slice / kWarpsN * kWarpM + lane / kLanesN * kPiece;
    n0 = of_slice % kWarpsN * kWarpN + lane % kLanesN * kPiece;
  }
};

// Of a thread's row or column within its tile, how far it lies from the tile's first.
__device__ __forceinline__ constexpr int row_of(int i) { return i / kPiece * (kLanesM * kPiece) + i % kPiece; }
__device__ __forceinline__ constexpr int column_of(int j) { return j / kPiece * (kLanesN * kPiece) + j % kPiece; }

}  // namespace tilesmith
