// A K-step of a 2:4 sparse operand, in simt.cu (macro TILESMITH_SPARSE): elements that are not stored are zero.
#pragma once

namespace tilesmith {

// Element (k, x) of a 2:4 sparse operand, whose stored elements lie [x][k / 2].
__device__ __forceinline__ Operand sparse_element(const Operand* stored, long long ld, const SparseArgs& sparse, int k, int x, int size_k, int size_x) {
  constexpr int kBytes = int(sizeof(Operand)), kGroup = group_elements(kBytes), kStored = stored_elements(kBytes);
  if (k >= size_k || x >= size_x) return Operand(0);
  const MetadataPlace place = metadata_place(x, k / kGroup, sparse.row_blocks, kBytes);
  const unsigned bits = static_cast<const unsigned*>(sparse.metadata)[place.word] >> place.shift & 15;
#pragma unroll
  for (int i = 0; i < kStored; ++i) {
    if (place_in_group(bits, i, kBytes) == k % kGroup) return stored[x * ld + k / kGroup * kStored + i];
  }
  return Operand(0);
}

// The same as load_step() of it.
template <int Width, int Stride>
__device__ __forceinline__ void load_sparse_step(Stored* shared, const Operand* matrix, long long ld, const SparseArgs& sparse, int k0, int x0,
                                                 int size_k, int size_x) {
  for (int e = int(threadIdx.x); e < kStepRows * Width; e += kThreads) {
    const int row = e % kStepRows, x = e / kStepRows, k = k0 + row * kPack;
    if constexpr (kPacked) {
      unsigned pack = 0;
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        const Operand value = sparse_element(matrix, ld, sparse, k + i, x0 + x, size_k, size_x);
        pack |= unsigned(static_cast<unsigned char>(value)) << (8 * i);
      }
      shared[row * Stride + x] = Stored(pack);
    } else {
      shared[row * Stride + x] = stored_of(sparse_element(matrix, ld, sparse, k, x0 + x, size_k, size_x));
    }
  }
}

}  // namespace tilesmith
