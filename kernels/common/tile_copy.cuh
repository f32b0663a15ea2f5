// Copies a tile of a row-major matrix from global to shared memory, zero-filling whatever lies outside the matrix.
//
// A tile row is cut into chunks of `CopyBytes`; consecutive threads take consecutive chunks, so that a warp reads whole
// rows. Chunks of 4, 8 and 16 bytes may go by cp.async, which copies the valid bytes and zero-fills the rest by itself;
// narrower ones are plain loads. Every row of the matrix must start at a multiple of CopyBytes (Family::refusal sees to
// it); its end need not.
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

// Starts an asynchronous copy of `Bytes` of which the first `valid_bytes` are read and the rest become zero.
template <int Bytes>
__device__ __forceinline__ void async_copy(void* shared, const void* global, int valid_bytes) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp.async moves 4, 8 or 16 bytes");
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

// A plain copy of one chunk with the same contract.
template <int Bytes, typename Element>
__device__ __forceinline__ void plain_copy(Element* shared, const Element* global, int valid_bytes) {
  using Chunk = typename ChunkOf<Bytes>::type;
  if (valid_bytes == Bytes) {
    *reinterpret_cast<Chunk*>(shared) = *reinterpret_cast<const Chunk*>(global);
    return;
  }
  constexpr int kElements = Bytes / int(sizeof(Element));
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    shared[i] = (i + 1) * int(sizeof(Element)) <= valid_bytes ? global[i] : Element(0);
  }
}

// Rows × Cols elements to shared memory with row stride SharedStride (elements).
//   global      element (0, 0) of the matrix, [rows, cols] row-major with row stride ld
//   row0, col0  the tile's first element
template <typename Element, int Rows, int Cols, int SharedStride, int CopyBytes, int Threads, bool Async>
__device__ __forceinline__ void copy_tile(Element* shared, const Element* global, long long ld, int row0, int col0,
                                          int rows, int cols) {
  constexpr int kElements = CopyBytes / int(sizeof(Element));
  static_assert(kElements >= 1, "a chunk must hold at least one element");
  static_assert(Cols % kElements == 0, "a tile row must split into whole chunks");
  constexpr int kChunksPerRow = Cols / kElements;
  constexpr int kChunks = Rows * kChunksPerRow;
#pragma unroll
  for (int first = 0; first < kChunks; first += Threads) {
    const int chunk = first + int(threadIdx.x);
    if (kChunks % Threads != 0 && chunk >= kChunks) break;
    const int row = chunk / kChunksPerRow;
    const int col = (chunk % kChunksPerRow) * kElements;
    const int remaining = row0 + row < rows ? cols - (col0 + col) : 0;
    const int valid_bytes = max(0, min(remaining, kElements)) * int(sizeof(Element));
    // Outside the matrix nothing is read, but the address must still be one: the matrix' own first element.
    const Element* source = valid_bytes > 0 ? global + (row0 + row) * ld + (col0 + col) : global;
    Element* target = shared + row * SharedStride + col;
    if constexpr (Async) {
      async_copy<CopyBytes>(target, source, valid_bytes);
    } else {
      plain_copy<CopyBytes>(target, source, valid_bytes);
    }
  }
}

}  // namespace tilesmith
