// Four matrices of 8 rows × 16 bytes from shared memory into the words of a warp (ldmatrix).
#pragma once

namespace tilesmith {

// Lane 8 i + r gives the address of row r of the i-th matrix, which becomes w[i]. Lane 4 g + t gets of each matrix the
// t-th word of row g; transposed, of rows 2t and 2t + 1 the g-th halves of words.
template <bool Transpose>
__device__ __forceinline__ void load_matrices(unsigned (&w)[4], unsigned address) {
  if constexpr (Transpose) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "r"(address)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "r"(address)
                 : "memory");
  }
}

}  // namespace tilesmith
