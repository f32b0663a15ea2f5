// Loads of the family `mma` from shared memory into Rows16 (instruction.cuh), for every type and orientation.
//
//   K-major, all but f64     ldmatrix: 16 rows × 32 bytes at a time
//   MN-major, 16-bit         ldmatrix.trans: 16 rows of K × 16 of M or N
//   MN-major, 8-bit          ldmatrix.trans of pairs of bytes, then a byte permutation parts the pairs
//   MN-major, tf32; f64      an element at a time: wider loads would not leave the words in the instruction's registers
//
// Where neighbours along M or N come together ("paired": 8-bit, MN-major), the words' rows g and g+8 are rows 2g and 2g+1 of
// the operand's 16: the epilogue undoes it.
#pragma once

#include "kernels/mma/instruction.cuh"
#include "kernels/mma/tile.cuh"

namespace tilesmith {

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

__device__ __forceinline__ void load_one(unsigned& value, unsigned address) {
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
}
__device__ __forceinline__ void load_one(double& value, unsigned address) {
  asm volatile("ld.shared.f64 %0, [%1];" : "=d"(value) : "r"(address) : "memory");
}

// Reads the rows [row0 + 16 i, row0 + 16 i + 16), i < Count, of a tile. Addresses are bytes of shared memory.
template <Side kSide, typename Tile, bool KMajor, int Count>
class FragmentLoader {
  static constexpr int kElement = int(sizeof(Operand));
  static constexpr int kStrideBytes = Tile::kStrideBytes;
  static constexpr bool kOneByOne = Tile::kWordRows;
  // Chunks that 16 rows of C span along a row of an MN-major tile. After 8 chunks the exchange repeats: so many offsets
  // are kept, the others are constants away.
  static constexpr int kChunksOf16 = 16 * kElement / kChunkBytes;
  static constexpr int kDistinct = KMajor || kChunksOf16 >= 8 ? 1 : 8 / kChunksOf16;
  static constexpr int kOffsets = kDistinct < Count ? kDistinct : Count;

 public:
  static constexpr bool kPaired = !KMajor && kElement == 1;

  __device__ __forceinline__ explicit FragmentLoader(int row0) {
    // The four matrices of an ldmatrix are the words (r, q) in the order of the side's registers.
    const int lane = int(threadIdx.x % 32), matrix = lane / 8, row = lane % 8, g = lane / 4, t = lane % 4;
    const int r = kSide == Side::left ? matrix % 2 : matrix / 2;
    const int q = kSide == Side::left ? matrix / 2 : matrix % 2;
#pragma unroll
    for (int i = 0; i < kOffsets; ++i) {
      const int first_chunk = (row0 + 16 * i) * kElement / kChunkBytes;
      int offset = 0;  // elements
      if constexpr (kOneByOne) {
        offset = KMajor ? Tile::offset(row0 + g, t) : Tile::offset(t, row0 + 16 * i + g);
      } else if constexpr (KMajor) {
        offset = Tile::chunk_offset(row0 + 8 * r + row, q);
      } else if constexpr (kElement == 1) {
        // Matrices: first and second pairs of K of the first 16 bytes of a slab, then of the last.
        offset = Tile::chunk_offset(16 * (matrix / 2) + 8 * (matrix % 2) + row, first_chunk);
      } else {
        offset = Tile::chunk_offset(8 * q + row, first_chunk + r);
      }
      offsets_[i] = unsigned(offset * kElement);
    }
  }

  // The i-th 16 rows, of the slab that starts at element slab · kSlabK of the step.
  template <typename Rows>
  __device__ __forceinline__ void load(Rows& to, unsigned tile, int i, int slab) const {
    if constexpr (kOneByOne) {
      load_one_by_one(to, tile, i, slab);
      round(to);
    } else if constexpr (KMajor) {
      load_matrices<false>(to.w, ((tile + offsets_[0]) ^ unsigned(slab * 32)) + unsigned(i * 16 * kStrideBytes));
      round(to);
    } else {
      load_mn_major(to, tile + offset_of(i) + unsigned(slab * kSlabK * kStrideBytes));
    }
  }

 private:
  __device__ __forceinline__ unsigned offset_of(int i) const {
    return offsets_[i % kOffsets] + unsigned(i / kOffsets * Tile::kLineBytes);
  }

  template <typename Rows>
  __device__ __forceinline__ void load_mn_major(Rows& to, unsigned address) const {
    if constexpr (kElement == 1) {
      unsigned pairs[4];
      load_matrices<true>(pairs, address);
#pragma unroll
      for (int q = 0; q < 2; ++q) {
        to.w[word_index(kSide, 0, q)] = __byte_perm(pairs[2 * q], pairs[2 * q + 1], 0x6420);
        to.w[word_index(kSide, 1, q)] = __byte_perm(pairs[2 * q], pairs[2 * q + 1], 0x7531);
      }
    } else {
      load_matrices<true>(to.w, address);
    }
  }

  template <typename Rows>
  __device__ __forceinline__ void load_one_by_one(Rows& to, unsigned tile, int i, int slab) const {
#pragma unroll
    for (int q = 0; q < kQuarters; ++q) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        unsigned address;
        if constexpr (KMajor) {
          address = ((tile + offsets_[0]) ^ unsigned((slab * kQuarters + q) * 32)) + unsigned((i * 16 + 8 * r) * kStrideBytes);
        } else {
          // 8 elements further is one bit of the address, above those that tell the pair's chunks apart.
          address = ((tile + offset_of(i)) ^ unsigned(r * 8 * kElement)) + unsigned((slab * kSlabK + 4 * q) * kStrideBytes);
        }
        load_one(to.w[word_index(kSide, r, q)], address);
      }
    }
  }

  template <typename Rows>
  static __device__ __forceinline__ void round(Rows& rows) {
    if constexpr (kOperandIsTf32) {
#pragma unroll
      for (unsigned& word : rows.w) word = rounded_to_tf32(word);
    }
  }

  unsigned offsets_[kOffsets];
};

}  // namespace tilesmith
