// The same where operands are swapped: a warp's sums lie along N, and of a box's 128 bytes of a row it has 16 columns.
// So the warps of a block fill all boxes of its tile, in the ring's place, and store them when all are full.
//
//            ← kBoxCols of N →
//         ┌──────┬──────┬──────┐ ↑          4-byte elements: 2 warps a box, 4 bytes a store
//         │warp 0│warp 1│ ...  │ 16 of M    2-byte elements: 4 warps a box, columns of four 8×8 matrices a store
//         └──────┴──────┴──────┘ ↓
#pragma once

#include "kernels/wgmma/box_store.cuh"

namespace tilesmith {

template <int kElementBytes = int(sizeof(Stored))>
class SwappedBoxWriter {
  static constexpr int kBoxesAlongM = kBlockM / kBoxRows;

 public:
  // `column`: where the warp's sums begin in the block's tile.
  __device__ __forceinline__ SwappedBoxWriter(const Destination& to, int column, unsigned boxes)
      : to_(to), column_(column), boxes_(boxes), lane_(int(threadIdx.x % 32)) {
    asm volatile("" : "+r"(lane_));  // what is derived from it is not computed ahead, beside all the sums
  }

  __device__ __forceinline__ void put(const WarpSums& sums) const {
#pragma unroll
    for (int i = 0; i < kLeftTiles; ++i) {
      const int column = column_ + WarpSums::row_of(i, 0, 0);
      const unsigned boxes = boxes_ + unsigned(column / kBoxCols * kBoxesAlongM * kBoxBytes);
#pragma unroll
      for (int box = 0; box < kBoxesAlongM; ++box)
        put_box(sums, i, box * kBoxRows, column, boxes + unsigned(box * kBoxBytes));
    }
  }

 private:
  // Rows [row, row + kBoxRows) of the tile, of them the warp's 16 columns from `column` on.
  __device__ __forceinline__ void put_box(const WarpSums& sums, int i, int row, int column, unsigned box) const {
    const int g = lane_ / 4, t = lane_ % 4, first_chunk = column % kBoxCols * kElementBytes / 16;
    Stored finished[2][2][2];  // of the instruction's halves r, of both groups of 8 rows, of neighbours along M
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const Accumulator one[1] = {sums.sum(i, r, row / 8 + half, e)};
          Stored out[1];
          to_.finish(one, out);
          finished[r][half][e] = out[0];
        }
      }
    }
    if constexpr (kElementBytes == 4) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int row_in_8 = 2 * t + e;
          const unsigned at = box + unsigned((8 * half + row_in_8) * kBoxRowBytes + g % 4 * 4);
#pragma unroll
          for (int r = 0; r < 2; ++r) {
            const int chunk = (first_chunk + 2 * r + g / 4) ^ row_in_8;
            put_word(at + unsigned(chunk * 16), finished[r][half][e]);
          }
        }
      }
    } else {
      unsigned w[4];
#pragma unroll
      for (int matrix = 0; matrix < 4; ++matrix) w[matrix] = bits_of<unsigned>(finished[matrix % 2][matrix / 2]);
      const int matrix = lane_ / 8, row_in_8 = lane_ % 8;
      const int chunk = (first_chunk + matrix % 2) ^ row_in_8;
      store_matrices<true>(box + unsigned((8 * (matrix / 2) + row_in_8) * kBoxRowBytes + chunk * 16), w);
    }
  }

  static __device__ __forceinline__ void put_word(unsigned to, Stored value) {
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(*reinterpret_cast<const unsigned*>(&value)) : "memory");
  }

  const Destination& to_;
  int column_;
  unsigned boxes_;
  int lane_;
};

// All warps' sums of a block. (m0, n0): where its tile lies in C; `column`: where the warp's sums begin in the tile;
// `wait_for_all()` waits for all threads that store.
template <typename WaitForAll>
__device__ __forceinline__ void store_by_swapped_boxes(const WarpSums& sums, const Destination& to,
                                                       const MapOfEntry& c, int m0, int n0, int column,
                                                       unsigned char* shared, WaitForAll wait_for_all) {
  const unsigned boxes = unsigned(__cvta_generic_to_shared(shared));
  SwappedBoxWriter<>(to, column, boxes).put(sums);
  publish_to_accelerator();
  wait_for_all();
  for (int box = int(threadIdx.x / 32); box < kBoxes; box += kStoringWarps) {
    const int m = m0 + box % (kBlockM / kBoxRows) * kBoxRows, n = n0 + box / (kBlockM / kBoxRows) * kBoxCols;
    if (m < to.rows() && n < to.cols()) store_box(c, n, m, boxes + unsigned(box * kBoxBytes));
  }
  end_store();
}

}  // namespace tilesmith
