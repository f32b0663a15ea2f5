// A header of the family's own folder. It is part of what is hashed: a change here retires the records of every config.
#pragma once

namespace tilesmith {

constexpr int kTileStride = kBlockK + 1;

// tile[x][k] ← element (x0 + x, k0 + k), x along M or N, as f32; 0 outside the matrix. As stored it is [x][k], or
// [k][x] where KOutermost. Consecutive threads read along the stored row.
template <bool KOutermost, int Width, int Threads>
__device__ __forceinline__ void load_tile(float* tile, const Operand* matrix, long long ld, int x0, int k0, int size_x, int size_k) {
  for (int at = int(threadIdx.x); at < Width * kBlockK; at += Threads) {
    const int x = KOutermost ? at % Width : at / kBlockK;
    const int k = KOutermost ? at / Width : at % kBlockK;
    const bool inside = x0 + x < size_x && k0 + k < size_k;
    const long long place = KOutermost ? (k0 + k) * ld + x0 + x : (x0 + x) * ld + k0 + k;
    tile[x * kTileStride + k] = inside ? float(matrix[place]) : 0.0f;
  }
}

}  // namespace tilesmith
