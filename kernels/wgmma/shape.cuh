// How a block of the family `wgmma` is made of warpgroups (four warps each), and how blocks of a cluster share their
// operands.
//
//                 ← right: kRightExtent →           left and right are op(A) and op(B) transposed; with kSwap the other way
//              ┌────────────────────────┐  ↑        round, so that few rows of C are few columns of an instruction
//   group 0    │ 64 × kRightExtent      │ left:
//              │ 64 × kRightExtent      │ kLeftExtent
//              ├────────────────────────┤
//   group 1    │ ...                    │           an instruction: 64 rows × kRightExtent, by the four warps of a group (beyond
//              └────────────────────────┘  ↓        256 columns: two, columns.cuh)
#pragma once

#include "kernels/shared/either.cuh"
#include "kernels/shared/work/work.cuh"
#include "kernels/wgmma/columns.cuh"
#include "kernels/wgmma/even_tiles.cuh"

namespace tilesmith {

// One tile a block; tile after tile, all groups on one; or tile after tile, each group on one of its own, so that one
// group's products hide the other's epilogue.
enum Schedule { kOneTile = 0, kCooperative = 1, kPingPong = 2 };

constexpr bool kPersistent = kSchedule != kOneTile;
// Of two groups on a tile the second does its last kStagger steps after the first has started all of its own: then each
// stores while the other multiplies, at the end of a tile and at the start of the next.
constexpr bool kKeepsRing = kPersistent || kStagger > 0;  // copies, or reads of them, are under way during an epilogue
constexpr int kTileGroups = kSchedule == kPingPong ? 1 : kWarpgroups;  // that share a tile
constexpr int kLeftExtent = kSwap ? kBlockN : kBlockM;
constexpr int kRightExtent = kSwap ? kBlockM : kBlockN;
constexpr int kGroupRows = kLeftExtent / kTileGroups;
constexpr int kLeftTiles = kGroupRows / 64;  // of 64 rows, of a group
static_assert(kLeftExtent % (64 * kTileGroups) == 0, "a group's rows must split into those of instructions");
static_assert(kStagger == 0 || (kTileGroups == 2 && kStagger <= kStages), "two groups go apart by what the ring holds");
static_assert(!kPersistent || kSplitK == 1, "all items of a persistent block have as many steps");
constexpr int kFirstColumns = first_columns(kRightExtent);
static_assert(
    kRightExtent % 8 == 0 && kRightExtent <= kMostColumns, "two instructions have up to so many columns, by 8");

constexpr int kMultiplyingThreads = kWarpgroups * 128;
constexpr bool kOverlap = kPack != 0 || kPartials || kAtomicAdds;  // a plan's launches (shared/work/overlap.cuh)

constexpr bool kPackedSums = sizeof(Accumulator) == 2;                // two share a register
constexpr int kTileRegisters = kRightExtent / (kPackedSums ? 4 : 2);  // a thread's sums of 64 rows

// A warp beside the multiplying ones copies. Where sums fill the registers (Trades) it comes with three idle ones, and
// these four give theirs to the others.
template <bool Trades>
struct RegisterTrade {
  static constexpr int kThreads = kMultiplyingThreads + (Trades ? 128 : 32);
  static constexpr int kAtLaunch = 65536 / kMinBlocks / kThreads / 8 * 8;  // registers of a thread
  static constexpr int kCopying = 24;
  static constexpr int kMultiplying =
      (kAtLaunch * kThreads - kCopying * (kThreads - kMultiplyingThreads)) / kMultiplyingThreads / 8 * 8;

  template <bool IsCopying>
  static __device__ __forceinline__ void take() {
    if constexpr (Trades && IsCopying) {
      asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCopying));
    } else if constexpr (Trades) {
      asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kMultiplying > 240 ? 240 : kMultiplying));
    }
  }
};

// Blocks of a cluster lie side by side on C: kClusterM along M, kClusterN along N. Those in a row share A, those in a
// column B: each copies its part to all of them.
constexpr int kSharingBlocks = kClusterM * kClusterN;
constexpr int kLeftSharers = kSwap ? kClusterM : kClusterN;  // blocks that share the left operand
constexpr int kRightSharers = kSwap ? kClusterN : kClusterM;
static_assert(kSharingBlocks == 1 || !kClusterSums, "a cluster shares operands or adds sums");

// A work item is what a cluster computes at a time: tiles of one size, or those of even_tiles.cuh. These deal out the
// right operand's extent: columns of C, or rows where operands are swapped.
using EqualWorkList = WorkListOf<kBlockM * kClusterM, kBlockN * kClusterN, true>;
static_assert(
    kEven == 0 || (kPersistent && kLeftSharers == 1), "persistent blocks deal out what no two of a cluster split");

struct EvenWork : Work {
  int end;  // of its columns (swapped: rows)
};

class EvenWorkList {
  static constexpr int kAcross = kLeftExtent * kRightSharers;  // of C, that an item takes the other way

 public:
  __device__ __forceinline__ explicit EvenWorkList(const GemmArgs& args)
      : tiles_(((kSwap ? tiled_columns(args) : args.m) - 1) / kAcross + 1, kSwap ? args.m : tiled_columns(args),
            kRightExtent, kGroupM, gridDim.x / kSharingBlocks),
        k_(args.k) {}

  __device__ __forceinline__ void read(int*) {}
  __device__ __forceinline__ unsigned count() const { return tiles_.count(); }
  __device__ __forceinline__ EvenWork at(unsigned item) const {
    const EvenTile tile = tiles_.at(item);
    const int across = tile.row * kAcross;
    return {{kSwap ? tile.first : across, kSwap ? across : tile.first, 0, k_, 0}, tile.last};
  }

 private:
  EvenTiles tiles_;
  int k_;
};

using WorkList = Either<kEven != 0, EvenWorkList, EqualWorkList>;
using ItemWork = Either<kEven != 0, EvenWork, Work>;

__device__ __forceinline__ bool is_narrow(const Work&) { return false; }
__device__ __forceinline__ bool is_narrow(const EvenWork& work) {
  return work.end - (kSwap ? work.m0 : work.n0) <= kRightExtent - kEvenStep;
}

// C as the item may store into it. Of gated columns see last_pair().
static_assert(!kIsGated || !kSwap || !kEven, "gated columns are dealt, rows are not");
__device__ __forceinline__ SignatureArgs within(const GemmArgs& args, const Work& work) {
  return args_of_entry(args, work.entry);
}
__device__ __forceinline__ SignatureArgs within(const GemmArgs& args, const EvenWork& work) {
  SignatureArgs its = args;
  if constexpr (!kIsGated) (kSwap ? its.m : its.n) = work.end;
  return its;
}
__device__ __forceinline__ int last_pair(const Work&) { return 0x7fffffff; }
__device__ __forceinline__ int last_pair(const EvenWork& work) { return work.end / 2; }

// A block's place in its cluster, and which work items are its cluster's.
struct ClusterPlace {
  unsigned m, n;         // tiles from the item's first
  unsigned first, step;  // items

  __device__ __forceinline__ explicit ClusterPlace(unsigned rank)
      : m(rank / kClusterN % kClusterM),
        n(rank % kClusterN),
        first(blockIdx.x / kSharingBlocks),
        step(gridDim.x / kSharingBlocks) {}

  __device__ __forceinline__ ItemWork place(ItemWork item) const {
    item.m0 += int(m) * kBlockM;
    item.n0 += int(n) * kBlockN;
    return item;
  }
};

}  // namespace tilesmith
