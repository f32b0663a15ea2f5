// How the rows of A and D are split among groups (kIsGrouped), and which tiles that makes.
//
//   ends       0        e0      e1 = e2            e3     M         group 2 is empty; the rows behind e3 are nobody's
//   rows       |--------|-------|------------------|......|
//   tiles      [---][---][---][--][---][---][---][-]                of kTileRows; a group's last one may have fewer
//
// Only the device knows the ends, so a grid has blocks for the most tiles that there may be (most_tile_rows() in
// kernels/problem/problem.cpp), or is persistent; blocks that find no tile leave. A warp looks at 32 groups at a time,
// one a lane. Where there are registers for it, it keeps what it found: who asks for tiles in their order seldom reads
// again.
#pragma once

#include "kernels/shared/gemm_args.cuh"

namespace tilesmith {

// A group's number, and where its rows end. It stands where kernels of strided batches have the number of an entry.
struct Group {
  int number, end;

  __device__ __forceinline__ operator int() const { return number; }
};

// Where a tile lies: in which group, and of which tiles.
struct GroupTiles {
  Group group;
  int first_row;        // of the group
  unsigned first, count;  // tiles of the groups before it, and its own
};

// All functions are called by whole warps. Nothing outside the matrices is read or written even if the ends change
// meanwhile.
template <int kTileRows, bool kKeeps>
class GroupedRows {
 public:
  __device__ __forceinline__ explicit GroupedRows(const GemmArgs& args)
      : ends_(args.ends), groups_(args.batch), m_(args.m) {}

  // Counts the tiles, once the ends may be read. Reports a wrong end, if this warp is the one to do so.
  __device__ __forceinline__ void read(int* fault) {
    count_ = 0;
    bool wrong = false;
    for (int g = lane(); g < groups_; g += 32) {
      const int begin = g == 0 ? 0 : ends_[g - 1], end = ends_[g];
      if (end < begin || end > m_) {
        wrong = true;
        if (fault != nullptr) *reinterpret_cast<volatile int*>(fault) = g + 1;
      }
      count_ += unsigned(tiles_of(end - begin));
    }
    count_ = __reduce_add_sync(0xffffffff, count_);
    look_at(0);
    if (__any_sync(0xffffffff, wrong)) {  // each end by what those before it leave
      while (first_ + 32 < groups_) look_at(first_ + 32);
      count_ = last(tiles_end_);
      look_at(0);
    }
  }

  __device__ __forceinline__ unsigned count() const { return count_; }

  // Of a tile that is there.
  __device__ __forceinline__ GroupTiles at(unsigned tile) {
    if (!kKeeps || tile < tiles_before_) look_at(0);
    while (tile >= last(tiles_end_) && first_ + 32 < groups_) look_at(first_ + 32);
    const int of_lane =
        __popc(__ballot_sync(0xffffffff, tiles_end_ <= tile));  // empty groups end where the one before does
    const unsigned before = __shfl_sync(0xffffffff, tiles_end_, of_lane - 1),
                   end = __shfl_sync(0xffffffff, tiles_end_, of_lane);
    const int begin = __shfl_sync(0xffffffff, rows_end_, of_lane - 1),
              rows_end = __shfl_sync(0xffffffff, rows_end_, of_lane);
    const unsigned first = of_lane == 0 ? tiles_before_ : before;
    return {{min(first_ + of_lane, groups_ - 1), rows_end}, of_lane == 0 ? rows_before_ : begin, first, end - first};
  }

 private:
  static __device__ __forceinline__ int lane() { return int(threadIdx.x % 32); }
  static __device__ __forceinline__ int tiles_of(int rows) { return (rows + kTileRows - 1) / kTileRows; }
  template <typename T>
  static __device__ __forceinline__ T last(T value) { return __shfl_sync(0xffffffff, value, 31); }

  // Groups from `first` on, 0 or those behind the ones that were looked at last.
  __device__ __forceinline__ void look_at(int first) {
    tiles_before_ = first == 0 ? 0 : last(tiles_end_);
    rows_before_ = first == 0 ? 0 : last(rows_end_);
    first_ = first;
    const int g = first + lane();
    rows_end_ = g < groups_ ? min(ends_[g], m_) : 0;
    rows_end_ = max(rows_end_, rows_before_);
    const int left = __shfl_up_sync(0xffffffff, rows_end_, 1);
    if (__any_sync(0xffffffff, lane() > 0 && rows_end_ < left)) {  // a wrong end, or lanes without a group
#pragma unroll
      for (int distance = 1; distance < 32; distance *= 2) {
        const int other = __shfl_up_sync(0xffffffff, rows_end_, distance);
        if (lane() >= distance) rows_end_ = max(rows_end_, other);
      }
    }
    const int begin = __shfl_up_sync(0xffffffff, rows_end_, 1);
    tiles_end_ = unsigned(tiles_of(rows_end_ - (lane() == 0 ? rows_before_ : begin)));
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const unsigned other = __shfl_up_sync(0xffffffff, tiles_end_, distance);
      if (lane() >= distance) tiles_end_ += other;
    }
    tiles_end_ += tiles_before_;
  }

  const int* ends_;
  int groups_, m_;
  unsigned count_ = 0;
  // Of the 32 groups from first_ on, a lane's: where its rows and its tiles end, and where those of the groups before
  // end.
  int first_ = 0, rows_end_ = 0, rows_before_ = 0;
  unsigned tiles_end_ = 0, tiles_before_ = 0;
};

// What a group's rows of D come from. Rows of A and D are numbered from the matrices' first ones; those of the group
// end before m.
__device__ __forceinline__ GemmArgs matrices_of_entry(const GemmArgs& all, const Group& group) {
  GemmArgs its = all;
  if constexpr (kHasWeights) {
    // Codes of 4 bits lie two a byte; scales and zeros are packed.
    its.b = static_cast<const unsigned char*>(all.b) + group.number * (all.stride_b / (8 / kWeightBits));
    const long long terms =
        group.number *
        (static_cast<long long>(kWeightGroup == 0 ? 1 : all.k / (kWeightGroup == 0 ? 1 : kWeightGroup)) * all.n);
    its.scales = static_cast<const WeightScale*>(all.scales) + terms;
    if constexpr (kWeightZeros) its.zeros = static_cast<const WeightScale*>(all.zeros) + terms;
  } else {
    its.b = static_cast<const Operand*>(all.b) + group.number * all.stride_b;
  }
  its.m = group.end;
  return its;
}

// The one warp of a grid that reports wrong ends.
__device__ __forceinline__ int* fault_to_report(const GemmArgs& args) {
  return blockIdx.x == 0 && threadIdx.x < 32 ? args.fault : nullptr;
}

}  // namespace tilesmith
