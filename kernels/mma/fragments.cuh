// Loads of the family `mma` from shared memory into Rows16 (instruction.cuh), for every type and orientation.
//
//   K-major, all but f64     ldmatrix: 16 rows × 32 bytes at a time
//   MN-major, 16-bit         ldmatrix.trans: 16 rows of K × 16 of M or N
//   MN-major, 8-bit          ldmatrix.trans of pairs of bytes, then a byte permutation parts the pairs
//   MN-major, tf32           two words (left) or one (right) at a time: those that an instruction takes in one register pair;
//                            where B alone lies so, kSwap makes it the left operand
//   the same in warp tiles   an element at a time
//   of 16 or 48, and f64
//
// Which row of the operand a word's row stands for is free, as long as the epilogue undoes it (row_in_warp,
// column_in_warp): it is chosen so that what a load brings is in the instruction's order, and what lanes read together
// lies in different banks.
#pragma once

#include "kernels/mma/instruction.cuh"
#include "kernels/mma/tile.cuh"
#include "kernels/shared/multiply/load_matrices.cuh"

namespace tilesmith {

__device__ __forceinline__ void load_two(unsigned& first, unsigned& second, unsigned address) {
  asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(first), "=r"(second) : "r"(address) : "memory");
}

__device__ __forceinline__ void load_one(unsigned& value, unsigned address) {
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
}
__device__ __forceinline__ void load_one(double& value, unsigned address) {
  asm volatile("ld.shared.f64 %0, [%1];" : "=d"(value) : "r"(address) : "memory");
}

using LeftTile = Either<kSwap != 0, TileB, TileA>;
using RightTile = Either<kSwap != 0, TileA, TileB>;

// How the rows of a warp's tile are dealt to the words' rows.
enum class Dealt {
  in_order,  // row g + 8r of each 16
  pairs,     // row 2g + r of each 16
  words,     // of each 32: left, rows g and g+8 are neighbours; right, rows g and g+4 lie 4 chunks apart
};

template <typename Tile>
constexpr Dealt kDealt = Tile::kByteRows       ? Dealt::pairs
                         : Tile::kTwoChunkRows ? Dealt::words
                                               : Dealt::in_order;

// Of the 8 chunks of 32 rows of words, the one that holds row g of a left operand's first 16; of its second 16, the
// next but one.
__device__ __forceinline__ int left_chunk(int g) { return g / 4 + g / 2 % 2 * 4; }

// Which row of the warp's tile the words (r, ..) of row g of its i-th 16 rows hold.
template <Dealt kHow>
__device__ __forceinline__ int row_in_warp(int i, int r, int g) {
  if constexpr (kHow == Dealt::pairs) return 16 * i + 2 * g + r;
  if constexpr (kHow == Dealt::words) return 32 * (i / 2) + 4 * (left_chunk(g) + 2 * (i % 2)) + 2 * (g % 2) + r;
  return 16 * i + g + 8 * r;
}

// Which columns of the warp's tile the sums c0, c1 (c2, c3) of its j-th 8 columns are, in the lanes of t: the first of
// two neighbours. (Pairs: of four, with those of the next 8.)
template <Dealt kHow>
__device__ __forceinline__ constexpr int column_in_warp(int j, int t) {
  if constexpr (kHow == Dealt::pairs) return 8 * j + 4 * t;
  if constexpr (kHow == Dealt::words) return 32 * (j / 4) + 4 * (j % 4) + t / 2 * 16 + t % 2 * 2;
  return 8 * j + 2 * t;
}

// In these tiles every row starts at a whole chunk. Rows that do not are loaded by skewed.cuh.
struct NoSkew {};

// Reads the rows [row0 + 16 i, row0 + 16 i + 16), i < Count, of a tile. Addresses are bytes of shared memory.
template <Side kSide, typename Tile, int Count>
class FragmentLoader {
  static constexpr bool kKMajor = Tile::kKMajor;
  static constexpr int kElement = int(sizeof(Operand));
  static constexpr int kStrideBytes = Tile::kStrideBytes;
  static constexpr bool kOneByOne = Tile::kWordRows;
  static constexpr bool kWords = Tile::kTwoChunkRows;
  // Chunks that 16 rows of C span along a row of an MN-major tile. After 8 chunks the exchange repeats: so many offsets
  // are kept, the others are constants away.
  static constexpr int kChunksOf16 = 16 * kElement / kChunkBytes;
  static constexpr int kDistinct = kKMajor || kWords || kChunksOf16 >= 8 ? 1 : 8 / kChunksOf16;
  static constexpr int kOffsets = kDistinct < Count ? kDistinct : Count;

 public:
  __device__ __forceinline__ FragmentLoader(int row0, NoSkew) {
    // The four matrices of an ldmatrix are the words (r, q) in the order of the side's registers.
    const int lane = int(threadIdx.x % 32), matrix = lane / 8, row = lane % 8, g = lane / 4, t = lane % 4;
    const int r = kSide == Side::left ? matrix % 2 : matrix / 2;
    const int q = kSide == Side::left ? matrix / 2 : matrix % 2;
#pragma unroll
    for (int i = 0; i < kOffsets; ++i) {
      const int first_chunk = (row0 + 16 * i) * kElement / kChunkBytes;
      int offset = 0;  // elements
      if constexpr (kWords && kSide == Side::left) {
        offset = Tile::chunk_offset(t, first_chunk + left_chunk(g)) + g % 2 * 2;
      } else if constexpr (kWords) {
        offset = Tile::chunk_offset(t, first_chunk + g / 4 * 4) + g % 4;
      } else if constexpr (kOneByOne) {
        offset = kKMajor ? Tile::offset(row0 + g, t) : Tile::offset(t, row0 + 16 * i + g);
      } else if constexpr (kKMajor) {
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
    if constexpr (kWords) {
      load_words(to, tile + offsets_[0], i, unsigned(i / 2 * Tile::kLineBytes + slab * kSlabK * kStrideBytes));
      round(to);
    } else if constexpr (kOneByOne) {
      load_one_by_one(to, tile, i, slab);
      round(to);
    } else if constexpr (kKMajor) {
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

  // The chunks of a 32's other rows, and of the other K rows, differ in one bit of the exchanged number each.
  template <typename Rows>
  static __device__ __forceinline__ void load_words(Rows& to, unsigned address, int i, unsigned offset) {
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      const unsigned k_offset = offset + unsigned(q * 4 * kStrideBytes);
      const int exchanged = q * 4;
      if constexpr (kSide == Side::left) {
        load_two(to.w[word_index(kSide, 0, q)], to.w[word_index(kSide, 1, q)],
                 (address ^ unsigned((exchanged + i % 2 * 2) * kChunkBytes)) + k_offset);
      } else {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          load_one(to.w[word_index(kSide, r, q)],
                   (address ^ unsigned((exchanged + i % 2 * 2 + r) * kChunkBytes)) + k_offset);
        }
      }
    }
  }

  template <typename Rows>
  __device__ __forceinline__ void load_one_by_one(Rows& to, unsigned tile, int i, int slab) const {
#pragma unroll
    for (int q = 0; q < kQuarters; ++q) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        unsigned address;
        if constexpr (kKMajor) {
          address = ((tile + offsets_[0]) ^ unsigned((slab * kQuarters + q) * 32)) +
                    unsigned((i * 16 + 8 * r) * kStrideBytes);
        } else {
          // 8 elements further is one bit of the address, above those that tell the pair's chunks apart.
          address =
              ((tile + offset_of(i)) ^ unsigned(r * 8 * kElement)) + unsigned((slab * kSlabK + 4 * q) * kStrideBytes);
        }
        load_one(to.w[word_index(kSide, r, q)], address);
      }
    }
  }

  unsigned offsets_[kOffsets];
};

}  // namespace tilesmith
