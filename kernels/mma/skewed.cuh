// Operands whose rows may start at any element, which no asynchronous copy of 4 bytes or more could bring in order.
//
//   global   ..|e0 e1 e2|e3 e4 e5|e6 ..      aligned blocks of 16 bytes, copied asynchronously as they lie
//   shared     |.. e0 e1|e2 e3 e4|e5 ..      so each row keeps its skew: where in a block it starts
//
// Fragments are loaded element by element, from addresses that a lane works out once: what differs from step to step,
// from 16 rows to the next 16, and from slab to slab are whole blocks.
#pragma once

#include "kernels/mma/tile.cuh"
#include "kernels/shared/load/tile_copy.cuh"
#include "kernels/shared/work/work.cuh"

namespace tilesmith {

// The skews of a tile's rows: row r starts at byte of(r) of a block.
struct RowSkew {
  unsigned first, stride;  // address of the tile's first element, and from row to row; of both only the low bits count

  __device__ __forceinline__ unsigned of(int row) const { return (first + unsigned(row) * stride) % kChunkBytes; }
};

// The skews of both tiles of a block's work item. They hold for all its steps, which are whole blocks of 16 bytes apart.
struct RowSkews {
  RowSkew a, b;

  template <typename WorkList>
  __device__ __forceinline__ RowSkews(const GemmArgs& args, const WorkList& list)
      : RowSkews(args, list.at(blockIdx.x)) {}

 private:
  __device__ __forceinline__ RowSkews(const GemmArgs& batch, const Work& work) {
    const GemmArgs& args = args_of_entry(batch, work.entry);
    a = of_tile<kAKMajor>(args.a, args.lda, work.m0);
    b = of_tile<kBKMajor>(args.b, args.ldb, work.n0);
  }
  // K begins at whole blocks, and so does an MN-major tile.
  template <bool KMajor>
  static __device__ __forceinline__ RowSkew of_tile(const void* matrix, long long ld, int row0) {
    const unsigned stride = unsigned(ld) * kElementBytes;
    return {unsigned(reinterpret_cast<unsigned long long>(matrix)) + (KMajor ? unsigned(row0) * stride : 0), stride};
  }
};

// One thread's share of the copies of a tile, step by step, as TileCopy's (shared/load/tile_copy.cuh). A row takes a
// block more than its elements would. The block that a matrix begins in is read as a whole: what lies in front of the
// matrix belongs to the same allocation, since those begin at multiples of 256 bytes.
template <typename Tile, int Threads, bool KIsRow, int NextStep>
class SkewedCopy {
  using Address = unsigned long long;
  static constexpr int kBlocksOfRow = Tile::kStrideBytes / kChunkBytes;
  static constexpr int kBlocks = Tile::kRows * kBlocksOfRow;
  static constexpr int kPasses = (kBlocks + Threads - 1) / Threads;

 public:
  // The matrix is [rows, cols] with row stride ld; the first step's tile starts at (row0, col0).
  __device__ __forceinline__ SkewedCopy(const Operand* matrix, long long ld, int row0, int col0, int rows, int cols)
      : tile_(reinterpret_cast<Address>(matrix + row0 * ld + col0)),
        stride_(int(ld) * kElementBytes),
        rows_left_(rows - row0),
        bytes_left_((cols - col0) * kElementBytes) {
#pragma unroll
    for (int i = 0; i < kPasses; ++i) {
      const int row = number(i) / kBlocksOfRow, block = number(i) % kBlocksOfRow;
      const int skew = int((tile_ + Address(row) * stride_) % kChunkBytes);
      from_[i] = row * stride_ - skew + block * kChunkBytes;
      bytes_in_front_[i] = block * kChunkBytes - skew;
    }
  }

  static __device__ __forceinline__ bool splits_whole(int, int) { return false; }  // all steps are copied alike

  template <bool>
  __device__ __forceinline__ void step(Operand* to) {
#pragma unroll
    for (int i = 0; i < kPasses; ++i) {
      if (kBlocks % Threads != 0 && number(i) >= kBlocks) break;
      const bool row_inside = number(i) / kBlocksOfRow < rows_left_;
      const int bytes = row_inside ? max(0, min(bytes_left_ - bytes_in_front_[i], kChunkBytes)) : 0;
      // Where nothing is read the address must still be one: that of the tile's first block.
      const Address from = tile_ + (bytes > 0 ? from_[i] : -int(tile_ % kChunkBytes));
      async_copy_part<kChunkBytes>(to + number(i) * kChunkElements, reinterpret_cast<const void*>(from), bytes);
    }
    tile_ += KIsRow ? Address(NextStep) * stride_ : NextStep * kElementBytes;
    (KIsRow ? rows_left_ : bytes_left_) -= KIsRow ? NextStep : NextStep * kElementBytes;
  }

 private:
  static __device__ __forceinline__ int number(int pass) { return pass * Threads + int(threadIdx.x); }

  Address tile_;  // of the current step's first element
  int stride_;    // bytes
  // For each block that the thread copies: its offset from tile_, and how many bytes of its row come before it.
  int from_[kPasses], bytes_in_front_[kPasses];
  int rows_left_, bytes_left_;
};

// Reads the rows [row0 + 16 i, row0 + 16 i + 16), i < Count, of a skewed tile, as FragmentLoader (fragments.cuh) does.
template <Side kSide, typename Tile, int Count>
class SkewedLoader {
  static constexpr int kElementsOfWord = 4 / kElementBytes;
  // 8 rows further, and of bytes along K 4 elements, a row's skew may be another.
  static constexpr int kDistinct = Tile::kKMajor ? 2 : kElementsOfWord;

 public:
  __device__ __forceinline__ SkewedLoader(int row0, const RowSkew& skew) {
    const int g = int(threadIdx.x % 32) / 4, t = int(threadIdx.x % 4);
#pragma unroll
    for (int i = 0; i < kDistinct; ++i) {
      const int row = Tile::kKMajor ? row0 + g + 8 * i : kElementsOfWord * t + i;
      const int col = Tile::kKMajor ? kElementsOfWord * t : row0 + g;
      lane_[i] = unsigned(row * Tile::kStrideBytes + col * kElementBytes) + skew.of(row);
    }
  }

  __device__ __forceinline__ void load(Rows16& to, unsigned tile, int i, int slab) const {
#pragma unroll
    for (int q = 0; q < 2; ++q) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        unsigned word = 0;
#pragma unroll
        for (int e = 0; e < kElementsOfWord; ++e) {
          const int rows = Tile::kKMajor ? 16 * i : slab * kSlabK + q * kChunkElements;  // and bytes of a row, further
          const int bytes = Tile::kKMajor ? (2 * slab + q) * kChunkBytes + e * kElementBytes
                                          : (16 * i + 8 * r) * kElementBytes;
          const unsigned lane = lane_[Tile::kKMajor ? r : e];
          word |= load_element(tile + lane + unsigned(rows * Tile::kStrideBytes + bytes)) << (8 * kElementBytes * e);
        }
        to.w[word_index(kSide, r, q)] = word;
      }
    }
  }

 private:
  static __device__ __forceinline__ unsigned load_element(unsigned address) {
    unsigned value;
    if constexpr (kElementBytes == 2) {
      asm volatile("ld.shared.u16 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
    } else {
      asm volatile("ld.shared.u8 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
    }
    return value;
  }

  unsigned lane_[kDistinct];  // where in a stage's tile the lane's elements begin
};

}  // namespace tilesmith
