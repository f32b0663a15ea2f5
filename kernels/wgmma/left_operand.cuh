// The left operand of a warpgroup's instructions: a descriptor of where it lies in shared memory, or, where that is not
// allowed, its words in registers.
//
// That is so for operands of 8 and 32 bits that lie MN-major. A panel is a row of K after the other, each of 128 bytes
// along M or N, whose chunks of 16 bytes are exchanged by the swizzle. Registers may be filled in any order of rows
// along M or N; two neighbours become the instruction's rows g and g + 8.
//
//             32 bits                                           8 bits
//   panel     32 of M or N                                      128 of M or N: two instructions' rows
//   warp      of 32 that two warps share, chunks c, c + 1,      one chunk
//             c + 4, c + 5, where c is 0 or 2
//   load      8 bytes of a row of K a thread: two neighbours;   ldmatrix.trans: a thread gets two neighbours of each of 8 rows
//             those of half a warp lie in different banks       of K, which a byte permutation parts
#pragma once

#include "kernels/shared/either.cuh"
#include "kernels/shared/multiply/load_matrices.cuh"
#include "kernels/wgmma/stage.cuh"

namespace tilesmith {

// The instruction's own order of rows, and nothing to prepare.
struct PlainLeft {
  __device__ __forceinline__ void next_step() {}
  static constexpr int kSets = 1;

  // Where load() puts rows (along M or N): the warp's first, of the group's; from there on that of its sums (i, r); and
  // how far apart those of g and g + 1 are, 0 if that is not always the same.
  static __device__ __forceinline__ int first_row(int warp) { return 16 * warp; }
  static __device__ __forceinline__ int row(int i, int r, int g) { return 64 * i + 8 * r + g; }
  static constexpr int kRowStep = 1;
};

template <typename Tile>
class LeftDescriptors : public PlainLeft {
 public:
  // A warpgroup's rows of a stage's left tile; of K what the instructions of a slab read.
  __device__ __forceinline__ void load(unsigned tile, int group, int) {
    descriptors_ = Descriptors<Tile>(tile + unsigned(group) * Tile::offset(kGroupRows, 0));
  }
  __device__ __forceinline__ unsigned long long of(int i, int slab) const {
    return descriptors_.at(Tile::offset(64 * i, slab));
  }

 private:
  Descriptors<Tile> descriptors_{0};
};

template <typename Tile>
class WordFragments : public PlainLeft {
  using Words = unsigned[4];

 public:
  __device__ __forceinline__ void load(unsigned tile, int group, int slab) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4, g = lane / 4, t = lane % 4;
    const unsigned chunk = warp % 2 * 2 + g / 2 % 2 * 4 + g / 4;
    const unsigned panel = unsigned(group * (kGroupRows / kPanelElements)) + warp / 2;
    const unsigned first = tile + panel * Tile::kPanelBytes + t * kPanelRowBytes + (chunk ^ t) * 16 + g % 2 * 8;
    const unsigned second = (first ^ 4 * 16) + 4 * kPanelRowBytes;
#pragma unroll
    for (int i = 0; i < kLeftTiles; ++i) {
      const unsigned at = unsigned(64 / kPanelElements * i * Tile::kPanelBytes + slab * kSlabK * kPanelRowBytes);
      Words& words = words_[i][slab];
      load_pair(words[0], words[1], first + at);
      load_pair(words[2], words[3], second + at);
    }
  }

  __device__ __forceinline__ const Words& of(int i, int slab) const { return words_[i][slab]; }

  static __device__ __forceinline__ int first_row(int warp) { return warp / 2 * 32 + warp % 2 * 8; }
  static __device__ __forceinline__ int row(int i, int r, int g) {
    return 64 * i + g / 2 % 2 * 16 + g / 4 * 4 + g % 2 * 2 + r;
  }
  static constexpr int kRowStep = 0;

 private:
  static __device__ __forceinline__ void load_pair(unsigned& first, unsigned& second, unsigned from) {
    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(first), "=r"(second) : "r"(from) : "memory");
  }

  Words words_[kLeftTiles][kSlabs];
};

template <typename Tile>
class ByteFragments : public PlainLeft {
  using Words = unsigned[4];

 public:
  __device__ __forceinline__ void load(unsigned tile, int group, int slab) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4, t = lane % 4;
    // The first two matrices hold 16 rows of K, the last two the next 16. A word's four are two rows of one matrix and
    // the same two of the other, dealt so that a matrix has each of K's remainders by 8 once, and its chunks lie in
    // different banks:
    //   first    0 1  4 5  10 11  14 15
    //   second   2 3  6 7   8  9  12 13
    const unsigned matrix = lane / 8, row = lane % 8;
    const unsigned k = matrix / 2 * 16 + row / 2 * 4 + (row / 4 ^ matrix % 2) * 2 + row % 2;
    const unsigned first = k * kPanelRowBytes + (warp ^ k % kSwizzledRows) * 16;
    const bool exchanged = t >= 2;  // the second matrix has the first two
    const unsigned even = exchanged ? 0x2064 : 0x6420, odd = exchanged ? 0x3175 : 0x7531;
#pragma unroll
    for (int i = 0; i < kLeftTiles; ++i) {
      const unsigned half = unsigned(group * kLeftTiles + i);  // of a panel: four of its chunks
      const unsigned at = tile + half / 2 * Tile::kPanelBytes + unsigned(slab * kSlabK * kPanelRowBytes);
      unsigned pairs[4];
      load_matrices<true>(pairs, at + (first ^ half % 2 * 64));
      Words& words = words_[i][slab];
#pragma unroll
      for (int q = 0; q < 2; ++q) {
        words[2 * q] = permuted(pairs[2 * q], pairs[2 * q + 1], even);
        words[2 * q + 1] = permuted(pairs[2 * q], pairs[2 * q + 1], odd);
      }
    }
  }

  __device__ __forceinline__ const Words& of(int i, int slab) const { return words_[i][slab]; }

  static __device__ __forceinline__ int first_row(int warp) { return 16 * warp; }
  static __device__ __forceinline__ int row(int i, int r, int g) { return 64 * i + 2 * g + r; }
  static constexpr int kRowStep = 2;

 private:
  // Where it stands: the compiler would move a plain __byte_perm behind the fence in front of the products, which must
  // have all words before it.
  static __device__ __forceinline__ unsigned permuted(unsigned first, unsigned second, unsigned selector) {
    unsigned word;
    asm volatile("prmt.b32 %0, %1, %2, %3;" : "=r"(word) : "r"(first), "r"(second), "r"(selector) : "memory");
    return word;
  }

  Words words_[kLeftTiles][kSlabs];
};

}  // namespace tilesmith
