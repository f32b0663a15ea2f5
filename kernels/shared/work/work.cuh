// What a block computes (families `mma` and `wgmma`): one tile of C and one slice of K after the other.
//
// Work items are numbered slice by slice, tile by tile within a slice; where a cluster adds the slices of a tile, tile
// by tile, slice by slice. A slice has every split_k-th step of K: blocks that run together read what lies together, so
// that rows that run along K are read in long pieces of memory. A persistent grid has as many blocks as fit the device
// at a time, and block b does items b, b + gridDim.x, ...; otherwise there is a block for each item.
#pragma once

#include "kernels/shared/work/batch.cuh"
#include "kernels/shared/work/grouped.cuh"
#include "kernels/shared/work/raster.cuh"
#include "kernels/shared/either.cuh"
#include "kernels/shared/finish/paired_columns.cuh"
#include "kernels/shared/load/pass_layout.cuh"

namespace tilesmith {

// How the slices of K are added: their sums through the workspace and a pass after the GEMM; atomically; or among the
// blocks of a cluster, in shared memory, where more than a cluster's are left to go through the workspace.
enum Reduction { kThroughWorkspace = 0, kAtomic = 1, kWithinCluster = 2 };

// Slices that a cluster adds: all, up to the 8 of the largest portable cluster; of more, 2 at a time, since larger
// clusters of large blocks leave SMs idle.
constexpr int kClusterK = kReduction != kWithinCluster ? 1 : kSplitK <= 8 ? kSplitK : 2;
constexpr int kPartialSlices = kReduction == kAtomic ? 1 : kSplitK / kClusterK;  // sums of each element that are stored
constexpr bool kPartials = kPartialSlices > 1;
constexpr bool kAtomicAdds = kSplitK > 1 && kReduction == kAtomic;
constexpr bool kClusterSums = kClusterK > 1;
static_assert(kSplitK % kClusterK == 0, "slices must split into whole clusters");
static_assert(!kIsGrouped || (!kPartials && !kAtomicAdds), "a pass over D would write rows that belong to no group");

constexpr int kNextStep = kSplitK * kBlockK;  // from a slice's step to its next, elements of K

// Where a kernel copies its argument, it copies the fields that its signature has: more of them change its machine
// code.
using SignatureArgs = Either<kIsPlain, PlainArgs, GemmArgs>;

// Which entry of a batch, or which group, an item belongs to.
using Entry = Either<kIsGrouped, Group, Either<kIsBatched, int, NoEntry>>;

struct Work {
  int m0, n0;  // the tile's first row and column of C
  int k0, k;   // the slice's first step, and where K ends
  int slice;
  Entry entry;

  __device__ __forceinline__ int steps() const { return (k - k0 + kNextStep - 1) / kNextStep; }
};

// Columns of the product as tiles have them, and as partial sums lie.
template <typename Args>
__device__ __forceinline__ int tiled_columns(const Args& args) {
  return kIsGated ? int(paired_columns(args.n)) : args.n;
}

// Items of kItemM × kItemN of C.
template <int kItemM, int kItemN>
class TileWorkList {
 public:
  __device__ __forceinline__ explicit TileWorkList(const GemmArgs& args)
      : tiles_m_((args.m - 1) / kItemM + 1),
        tiles_n_((tiled_columns(args) - 1) / kItemN + 1),
        k_(args.k),
        batch_(kIsBatched ? args.batch : 1) {}

  __device__ __forceinline__ void read(int*) {}

  __device__ __forceinline__ unsigned count() const { return tiles() * unsigned(batch_) * kSplitK; }

  // Within a slice entry by entry, tile by tile within an entry.
  __device__ __forceinline__ Work at(unsigned item) const {
    const unsigned of_slice = tiles() * unsigned(batch_);
    const unsigned slice = kSplitK == 1 ? 0 : kClusterSums ? item % kSplitK : item / of_slice;
    unsigned number = kSplitK == 1 ? item : kClusterSums ? item / kSplitK : item - slice * of_slice;
    const unsigned entry = kIsBatched ? number / tiles() : 0;
    number -= entry * tiles();
    const TileIndex tile = tile_of_block<kGroupM>(number, tiles_m_, tiles_n_);
    using Number = Either<kIsBatched, int, NoEntry>;
    return {tile.m * kItemM, tile.n * kItemN, int(slice) * kBlockK, k_, int(slice), Number(entry)};
  }

 private:
  __device__ __forceinline__ unsigned tiles() const { return unsigned(tiles_m_) * unsigned(tiles_n_); }

  int tiles_m_, tiles_n_, k_, batch_;
};

// The same of groups: group by group, so that blocks that run at a time share few matrices B. Used by whole warps,
// which call read() first.
template <int kItemM, int kItemN, bool kKeeps>
class GroupWorkList {
 public:
  __device__ __forceinline__ explicit GroupWorkList(const GemmArgs& args)
      : rows_(args), tiles_n_(unsigned((args.n - 1) / kItemN + 1)), k_(args.k) {}

  // Call it once the launch before has written the ends.
  __device__ __forceinline__ void read(int* fault) { rows_.read(fault); }

  __device__ __forceinline__ unsigned count() const { return rows_.count() * tiles_n_ * kSplitK; }

  __device__ __forceinline__ Work at(unsigned item) const {
    const unsigned slice = item % kSplitK, number = item / kSplitK;
    const GroupTiles of = rows_.at(number / tiles_n_);
    const TileIndex tile = tile_of_block<kGroupM>(number - of.first * tiles_n_, int(of.count), int(tiles_n_));
    return {of.first_row + tile.m * kItemM, tile.n * kItemN, int(slice) * kBlockK, k_, int(slice), of.group};
  }

 private:
  mutable GroupedRows<kItemM, kKeeps> rows_;
  unsigned tiles_n_;
  int k_;
};

// kKeeps: there are registers to keep what was found of the groups (grouped.cuh).
template <int kItemM, int kItemN, bool kKeeps = false>
using WorkListOf = Either<kIsGrouped, GroupWorkList<kItemM, kItemN, kKeeps>, TileWorkList<kItemM, kItemN>>;

// An entry's matrices, and its partial sums in the workspace.
template <typename Args>
__device__ __forceinline__ const Args& args_of_entry(const Args& args, NoEntry) { return args; }
__device__ __forceinline__ GemmArgs args_of_entry(const GemmArgs& all, const Group& group) {
  return matrices_of_entry(all, group);
}
__device__ __forceinline__ GemmArgs args_of_entry(const GemmArgs& batch, int entry) {
  GemmArgs its = matrices_of_entry(batch, entry);
  if constexpr (kPartials) {
    const long long sums = kPartialSlices * (batch.m * partial_stride(tiled_columns(batch)));
    its.workspace = static_cast<Accumulator*>(batch.workspace) + entry * sums;
  }
  return its;
}

}  // namespace tilesmith
