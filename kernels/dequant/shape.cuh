// What a block and its warps have of a problem (family `dequant`).
#pragma once

#include "kernels/shared/work/batch.cuh"
#include "kernels/shared/work/grouped.cuh"
#include "kernels/shared/multiply/k_quants.cuh"
#include "kernels/shared/multiply/weights_layout8.cuh"

namespace tilesmith {

constexpr int kStripRows = kCodeBlockRows;                                   // of W
constexpr int kWeightBytes = kIsQ6k ? kSixBitBlockBytes : kCodeBlockBytes;  // of a block of weights
constexpr int kWeightColumns = code_block_columns(kWeightBits);
constexpr int kElementBytes = int(sizeof(Operand));
constexpr int kProductK = 32 / kElementBytes;                        // columns of a product
constexpr int kTokens = 8;                                           // rows of A of a product

constexpr int kThreads = 32 * kWarpsN * kWarpsK;
constexpr int kStrips = kBlockN / kStripRows / kWarpsN;              // of a warp
constexpr int kTokenTiles = kBlockM / kTokens;
constexpr int kBlocksOfWarp = kWarpColumns / kWeightColumns;         // of weights, in a step and strip
constexpr int kStepK = kWarpsK * kWarpColumns;

// Columns of a step between which scales may change, and rows of scales in a step. A group that is longer than a step
// has one.
constexpr int kScaledColumns = kWeightGroup == 0 || kWeightGroup > kWarpColumns ? kWarpColumns : kWeightGroup;
constexpr int kGroupsOfStep = kWeightGroup == 0 || kWeightGroup > kStepK ? 1 : kStepK / kWeightGroup;

// Scales as they are copied: those of Q6_K four at a time, which are a block's columns.
using StoredScale = Either<kIsQ6k, unsigned, WeightScale>;
constexpr int kStoredGroup = kIsQ6k ? kWeightColumns : kWeightGroup;
constexpr int kScaleRows = kIsQ6k ? kStepK / kWeightColumns : kGroupsOfStep;

static_assert(kBlockN % (kStripRows * kWarpsN) == 0, "a warp has whole strips of W");
static_assert(kWarpColumns % kWeightColumns == 0 && kWarpColumns % 32 == 0, "a warp has whole blocks of weights");
static_assert(kWeightGroup == 0 || kStepK % kWeightGroup == 0 || kWeightGroup % kStepK == 0,
    "a step has whole groups, or is part of one");

// If a gate's halves lie apart, a tile's first half has rows of W that make x, and its second those of the same pairs'
// y.
constexpr bool kHalves = kIsGated && !kGateInterleaved;
constexpr int kBlockPairs = kBlockN / 2, kStripsOfHalf = kBlockPairs / kStripRows;
static_assert(!kHalves || kBlockPairs % kStripRows == 0, "a half has whole strips of W");

// Bytes of each part of a stage, in the order in which they lie in shared memory. The host computes the same (rules.cpp).
constexpr int kBytesOfWeights = kBlockN / kStripRows * (kStepK / kWeightColumns) * kWeightBytes;
constexpr int kRowBytes = kStepK * kElementBytes;  // of A in a stage
constexpr int kBytesOfA = kBlockM * kRowBytes;
constexpr int kBytesOfScales = kScaleRows * kBlockN * int(sizeof(StoredScale));
constexpr int kSupersOfStep = kStepK > kSuperColumns ? kStepK / kSuperColumns : 1;  // rows of their factors
constexpr int kBytesOfSupers = kIsKQuant ? kSupersOfStep * kBlockN * int(sizeof(Super)) : 0;
constexpr int kStageBytes =
    kBytesOfWeights + kBytesOfA + (kWeightZeros ? 2 : 1) * kBytesOfScales + kBytesOfSupers;

// Sums of the warps along K, as rows of D. The padding lets a warp store a product's 32 runs without conflicts.
constexpr int kSumsStride = kBlockN + 4;
constexpr int kSumsOfWarps = kBlockM * kSumsStride;

// What a warp has of K-quants beside the stages (warp_factors.cuh).
using Factor = Either<kIsQ6k, float, GroupFactors>;
constexpr int kFactorGroups = kIsKQuant ? kWeightColumns / (kWeightGroup == 0 ? 1 : kWeightGroup) : 1;
constexpr int kFactorRows = kStrips * kStripRows;
constexpr int kBytesOfFactors = kIsKQuant ? kFactorGroups * kFactorRows * int(sizeof(Factor)) : 0;
constexpr int kBytesOfCopies = kStages * kStageBytes + kThreads / 32 * kBytesOfFactors;

constexpr int kBytesOfSums = kWarpsK * kSumsOfWarps * int(sizeof(float));
constexpr int kSharedBytes = kBytesOfCopies > kBytesOfSums ? kBytesOfCopies : kBytesOfSums;

// The block's tile of D. Groups have theirs group by group, so that blocks that run at the same time share weights;
// their ends must have been written before. If `exists` is false, the grid has more blocks than there are tiles.
template <bool Grouped>
struct BlockTile {
  static constexpr NoEntry entry{};
  static constexpr bool exists = true;
  int tiles_m, item;

  __device__ __forceinline__ explicit BlockTile(const GemmArgs& args)
      : tiles_m((args.m - 1) / kBlockM + 1), item(int(blockIdx.x) / kSplitK) {}

  __device__ __forceinline__ int m0() const { return item % tiles_m * kBlockM; }
  __device__ __forceinline__ int n0() const { return item / tiles_m * kBlockN; }
};
template <>
struct BlockTile<true> {
  Group entry;
  bool exists;
  unsigned of_group, tiles_m;  // the tile's number in the group, and how many lie side by side along M
  int first_row;               // of the group

  __device__ __forceinline__ explicit BlockTile(const GemmArgs& all) {
    GroupedRows<kBlockM, false> rows(all);
    rows.read(fault_to_report(all));
    const unsigned item = blockIdx.x / kSplitK, tiles_n = unsigned((all.n - 1) / kBlockN + 1);
    exists = item / tiles_n < rows.count();
    if (!exists) return;
    const GroupTiles tiles = rows.at(item / tiles_n);
    entry = tiles.group;
    of_group = item - tiles.first * tiles_n;
    tiles_m = tiles.count;
    first_row = tiles.first_row;
  }

  __device__ __forceinline__ int m0() const { return first_row + int(of_group % tiles_m) * kBlockM; }
  __device__ __forceinline__ int n0() const { return int(of_group / tiles_m) * kBlockN; }
};

// The block's tile and slice, and the warp's part of them.
struct Place {
  int m0, n0;             // first row and column of D
  int slice;
  int first_step, steps;  // of the slice
  int warp_n, warp_k;     // the warp's strips begin at warp_n·kStrips, its columns of a step at warp_k·kWarpColumns

  __device__ __forceinline__ Place(const GemmArgs& args, const BlockTile<kIsGrouped>& tile) {
    slice = int(blockIdx.x) % kSplitK;
    m0 = tile.m0();
    n0 = tile.n0();
    const int all = (args.k + kStepK - 1) / kStepK, of_slice = (all + kSplitK - 1) / kSplitK;
    first_step = slice * of_slice;
    steps = max(0, min(of_slice, all - first_step));
    const int warp = int(threadIdx.x / 32);
    warp_n = warp % kWarpsN;
    warp_k = warp / kWarpsN;
  }
};

}  // namespace tilesmith
