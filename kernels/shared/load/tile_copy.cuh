// Copies the K-steps of a row-major matrix from global to shared memory, zero-filling whatever lies outside the matrix.
//
// A tile row is cut into chunks of `CopyBytes`; consecutive threads take consecutive chunks, so that a warp reads whole
// rows. A thread's chunks lie in one column, kRowsPerPass rows apart (and, where a row has more chunks than threads, in
// several columns): everything but a row count and a column count is worked out once, before the K loop.
//
//   pass 0   t0 t1 t2 t3        kThreadsPerRow = 4, kRowsPerPass = 2
//            t4 t5 t6 t7
//   pass 1   t0 t1 t2 t3
//            t4 t5 t6 t7
//
// Chunks of 4, 8 and 16 bytes may go by cp.async; narrower ones are plain loads. Every row of the matrix must start at
// a multiple of CopyBytes (Family::refusal sees to it); its end need not.
#pragma once

namespace tilesmith {

template <int Bytes>
struct ChunkOf;
template <> struct ChunkOf<1> { using type = unsigned char; };
template <> struct ChunkOf<2> { using type = unsigned short; };
template <> struct ChunkOf<4> { using type = unsigned int; };
template <> struct ChunkOf<8> { using type = uint2; };
template <> struct ChunkOf<16> { using type = uint4; };

__device__ __forceinline__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Starts an asynchronous copy of a whole chunk, or of zeros where `inside` is false: nothing is then read.
template <int Bytes>
__device__ __forceinline__ void async_copy_whole(void* shared, const void* global, bool inside) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp.async moves 4, 8 or 16 bytes");
  if constexpr (Bytes == 16) {
    asm volatile("{ .reg .pred outside; setp.eq.u32 outside, %2, 0; cp.async.cg.shared.global [%0], [%1], 16, outside; }"
                 ::"r"(shared_address(shared)), "l"(global), "r"(unsigned(inside))
                 : "memory");
  } else {
    asm volatile("{ .reg .pred outside; setp.eq.u32 outside, %2, 0; cp.async.ca.shared.global [%0], [%1], %3, outside; }"
                 ::"r"(shared_address(shared)), "l"(global), "r"(unsigned(inside)), "n"(Bytes)
                 : "memory");
  }
}

// Starts an asynchronous copy of `Bytes` of which the first `valid_bytes` are read and the rest become zero.
template <int Bytes>
__device__ __forceinline__ void async_copy_part(void* shared, const void* global, int valid_bytes) {
  if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(global),
                 "r"(valid_bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(shared_address(shared)), "l"(global),
                 "r"(valid_bytes), "n"(Bytes)
                 : "memory");
  }
}

__device__ __forceinline__ void async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most `Pending` of this thread's newest commit groups are still in flight.
template <int Pending>
__device__ __forceinline__ void async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

// Plain copies with the same contracts.
template <int Bytes, typename Element>
__device__ __forceinline__ void plain_copy_whole(Element* shared, const Element* global, bool inside) {
  using Chunk = typename ChunkOf<Bytes>::type;
  Chunk chunk{};
  if (inside) chunk = *reinterpret_cast<const Chunk*>(global);
  *reinterpret_cast<Chunk*>(shared) = chunk;
}

template <int Bytes, typename Element>
__device__ __forceinline__ void plain_copy_part(Element* shared, const Element* global, int valid_bytes) {
#pragma unroll
  for (int i = 0; i < Bytes / int(sizeof(Element)); ++i) {
    shared[i] = (i + 1) * int(sizeof(Element)) <= valid_bytes ? global[i] : Element(0);
  }
}

// A tile's layout in shared memory says where an element is, and after how many rows it repeats: offset(row + kPeriod,
// col) = offset(row, col) + kPeriod rows of kStride elements. Here rows are Stride elements apart.
template <int Rows, int Cols, int Stride>
struct PaddedTile {
  static constexpr int kRows = Rows, kCols = Cols, kStride = Stride, kPeriod = 1;
  static __device__ __forceinline__ int offset(int row, int col) { return row * Stride + col; }
};

__host__ __device__ constexpr int largest_power_of_two_dividing(int value) { return value & -value; }

// The tile's rows are in the matrix' order. (mma/paired_rows.cuh has another order.)
struct RowsInOrder {
  static constexpr bool kInOrder = true;
};

// One thread's share of the steps of a tile that walks along K: down its rows if KIsRow, else along them, NextStep
// elements of K from step to step.
template <typename Element, typename Tile, int CopyBytes, int Threads, bool Async, bool KIsRow, int NextStep,
          typename Order = RowsInOrder>
class TileCopy {
  static constexpr int Rows = Tile::kRows;
  static constexpr int Cols = Tile::kCols;
  static constexpr int kElements = CopyBytes / int(sizeof(Element));
  static_assert(kElements >= 1, "a chunk must hold at least one element");
  static_assert(Cols % kElements == 0, "a tile row must split into whole chunks");
  static constexpr int kChunksPerRow = Cols / kElements;
  static constexpr int kEvenShare = largest_power_of_two_dividing(kChunksPerRow);
  static constexpr int kThreadsPerRow = Threads < kEvenShare ? Threads : kEvenShare;
  static_assert(Threads % kThreadsPerRow == 0, "the block's threads must split into whole rows");
  static constexpr int kColumnPasses = kChunksPerRow / kThreadsPerRow;
  static constexpr int kColumnsPerPass = kThreadsPerRow * kElements;
  static constexpr int kRowsPerPass = Threads / kThreadsPerRow;
  static constexpr int kRowPasses = (Rows + kRowsPerPass - 1) / kRowsPerPass;
  static constexpr bool kSpareThreads = Rows % kRowsPerPass != 0;
  // Passes after which the layout repeats: so many offsets are kept, the others are constants away.
  static constexpr int kEvenRows = largest_power_of_two_dividing(kRowsPerPass);
  static constexpr int kOffsets = kEvenRows < Tile::kPeriod ? Tile::kPeriod / kEvenRows : 1;
  static_assert(kOffsets * kRowsPerPass % Tile::kPeriod == 0, "the layout must repeat after whole passes");

 public:
  // The matrix is [rows, cols] with row stride ld; the first step's tile starts at (row0, col0).
  __device__ __forceinline__ TileCopy(const Element* matrix, long long ld, int row0, int col0, int rows, int cols)
      : matrix_(matrix) {
    row_ = int(threadIdx.x) / kThreadsPerRow;
    const int col = int(threadIdx.x) % kThreadsPerRow * kElements;
    if constexpr (Order::kInOrder) {
      source_ = matrix + (row0 + row_) * ld + (col0 + col);
    } else {
      source_ = matrix + (col0 + col);
      order_ = Order(ld, row0 + row_, rows);
    }
    pass_stride_ = kRowsPerPass * ld;
    step_stride_ = KIsRow ? NextStep * ld : NextStep;
    if constexpr (Tile::kPeriod == 1) {  // a loop, though it is unrolled, would change the machine code of `wmma`
      shared_offsets_[0] = Tile::offset(row_, col);
    } else {
#pragma unroll
      for (int i = 0; i < kOffsets; ++i) shared_offsets_[i] = Tile::offset(row_ + i * kRowsPerPass, col);
    }
    rows_left_ = rows - row0 - row_;
    cols_left_ = cols - col0 - col;
  }

  // True if every step that ends before the matrix' end of K splits into chunks that lie inside or outside as a whole,
  // for all threads of a block whose tile starts at (row0, col0).
  static __device__ __forceinline__ bool splits_whole(int col0, int cols) {
    return !KIsRow || col0 + Cols <= cols || cols % kElements == 0;
  }

  // Copies the tile of the current step and goes on to the next. Whole: the caller knows that the step ends inside K
  // and that splits_whole() holds; what is left then is one comparison a chunk.
  template <bool Whole>
  __device__ __forceinline__ void step(Element* tile) {
#pragma unroll
    for (int i = 0; i < kRowPasses; ++i) {
      if (kSpareThreads && row_ + i * kRowsPerPass >= Rows) break;
      const Element* from = source_ + i * pass_stride_;
      Element* to = tile + shared_offsets_[i % kOffsets] + i / kOffsets * (kOffsets * kRowsPerPass * Tile::kStride);
      bool row_inside = i * kRowsPerPass < rows_left_;
      if constexpr (!Order::kInOrder) {
        from = source_ + order_.template offset<kRowsPerPass>(i);
        row_inside = order_.template has<kRowsPerPass>(i);
      }
#pragma unroll
      for (int j = 0; j < kColumnPasses; ++j) {
        copy_chunk<Whole>(to + j * kColumnsPerPass, from + j * kColumnsPerPass, row_inside, j);
      }
    }
    source_ += step_stride_;
    (KIsRow ? rows_left_ : cols_left_) -= NextStep;
  }

 private:
  template <bool Whole>
  __device__ __forceinline__ void copy_chunk(Element* to, const Element* from, bool row_inside, int column_pass) const {
    const int columns = cols_left_ - column_pass * kColumnsPerPass;
    if constexpr (Whole) {
      // Of a step inside K only M or N, where they lie along the rows, can leave a chunk outside.
      const bool inside = KIsRow ? row_inside && columns > 0 : row_inside;
      if constexpr (Async) {
        async_copy_whole<CopyBytes>(to, from, inside);
      } else {
        plain_copy_whole<CopyBytes>(to, from, inside);
      }
    } else {
      const int inside = row_inside ? max(0, min(columns, kElements)) : 0;
      // Where nothing is read the address must still be one: the matrix' own first element.
      const Element* source = inside > 0 ? from : matrix_;
      if constexpr (Async) {
        async_copy_part<CopyBytes>(to, source, inside * int(sizeof(Element)));
      } else {
        plain_copy_part<CopyBytes>(to, source, inside * int(sizeof(Element)));
      }
    }
  }

  const Element* matrix_;
  const Element* source_;  // this thread's first chunk of the current step; in another order that of row 0
  Order order_;
  long long pass_stride_;         // elements from one row pass to the next
  long long step_stride_;         // elements from one step to the next
  int shared_offsets_[kOffsets];  // of this thread's first chunks in the tile
  int row_;                       // of this thread's first chunk in the tile
  int rows_left_;                 // rows of the matrix from this thread's first chunk on
  int cols_left_;                 // columns of the matrix from this thread's first chunk on
};

}  // namespace tilesmith
