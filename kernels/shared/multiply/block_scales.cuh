// Scales of blocks of K, which A and B are multiplied by before they are multiplied with each other
// (Scaling::each_by_block and Scaling::block in kernels/problem/signature.hpp). The host puts kBlockScaleM and
// kBlockScaleN before the template.
//
//   kScaledEach     [blocks of K][rows]             a scale for each row of A (column of B)
//   kScaledBlocks   [blocks of rows][blocks of K]   a scale for kScaleBlock of them
//
// The scales of a batch's entries, and those of each group's B, lie one behind the other, unless all read one matrix.
#pragma once

namespace tilesmith {

constexpr int kScaleBlock = 128;
enum BlockScaleKind { kNotScaled = 0, kScaledEach = 1, kScaledBlocks = 2 };
constexpr bool kHasBlockScales = kBlockScaleM != kNotScaled;

__device__ __forceinline__ int scale_blocks(int extent) { return (extent + kScaleBlock - 1) / kScaleBlock; }

template <int Kind>
struct BlockScales {
  const float* first;
  int extent, blocks;  // of rows (columns), of K

  __device__ __forceinline__ BlockScales(const float* scales, int extent, int k, int matrix)
      : extent(extent), blocks(scale_blocks(k)) {
    const int rows = Kind == kScaledEach ? extent : scale_blocks(extent);
    first = scales + static_cast<long long>(matrix) * rows * blocks;
  }

  // The scale of a row (column) in a block of K. Both must lie inside the matrix.
  __device__ __forceinline__ float at(int row, int block) const {
    return Kind == kScaledEach ? first[static_cast<long long>(block) * extent + row]
                               : first[static_cast<long long>(row / kScaleBlock) * blocks + block];
  }
};

}  // namespace tilesmith
