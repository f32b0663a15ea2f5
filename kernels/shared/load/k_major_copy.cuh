// The packing pass that turns operands that lie MN-major: [K, cols] becomes [cols, K]. Of those of 8 and 32 bits
// K-major rows are what tensor cores are fed fastest with (wgmma takes no others from shared memory, ldmatrix brings no
// others in an instruction's order); those of 16 bits go either way, but K-major tiles begin at whole lines of memory,
// wherever they lie along M or N.
//
// A block turns a tile of 32 words of K by 8 chunks of 16 bytes through shared memory:
//
//   read      as many rows of K as elements share a word × one chunk a thread; 8 neighbouring threads read 128 bytes of a row
//   shared    a row of 32 words of K for each column of the operand, their chunks exchanged so that no banks clash
//   written   rows of 128 bytes
#pragma once

#include "kernels/shared/load/pack.cuh"

namespace tilesmith {

// Elements of K of one column become a word: w[i] holds those of row i, and then those of column i.
__device__ __forceinline__ void transpose_within_words(unsigned (&w)[1]) {}
__device__ __forceinline__ void transpose_within_words(unsigned (&w)[2]) {
  const unsigned first = __byte_perm(w[0], w[1], 0x5410), second = __byte_perm(w[0], w[1], 0x7632);
  w[0] = first;
  w[1] = second;
}
__device__ __forceinline__ void transpose_within_words(unsigned (&w)[4]) {
  const unsigned low01 = __byte_perm(w[0], w[1], 0x5140), high01 = __byte_perm(w[0], w[1], 0x7362);
  const unsigned low23 = __byte_perm(w[2], w[3], 0x5140), high23 = __byte_perm(w[2], w[3], 0x7362);
  w[0] = __byte_perm(low01, low23, 0x5410);
  w[1] = __byte_perm(low01, low23, 0x7632);
  w[2] = __byte_perm(high01, high23, 0x5410);
  w[3] = __byte_perm(high01, high23, 0x7632);
}

template <typename Element, bool kPaired = false, int kCopies = 1>  // pack.cuh
class KMajorCopy {
  static constexpr int kWord = 4 / int(sizeof(Element));  // elements
  static constexpr int kChunk = ChunkReader<Element>::kCount;
  static constexpr int kWordsOfRow = 32, kChunksOfRow = 8;
  static constexpr int kTileK = kWordsOfRow * kWord, kTileCols = kChunksOfRow * kChunk;
  static_assert(kTileK * sizeof(Element) == kTurnedTileBytes && kTileCols * sizeof(Element) == kTurnedTileBytes,
                "the grid has a block for each tile");
  static constexpr int kAtATime = kPackThreads / kChunksOfRow;  // rows of words that the block's threads take together
  static constexpr int kPasses = kWordsOfRow / kAtATime;

 public:
  __device__ __forceinline__ KMajorCopy(const void* from, long long ld, int rows, int cols, Element* to)
      : reader_(from, ld, rows, cols), to_(to) {}

  __device__ __forceinline__ long long elements() const {
    return kCopies * packed_bytes(packed_rows<kPaired>(reader_.cols()), reader_.rows(), sizeof(Element)) /
           sizeof(Element);
  }
  __device__ __forceinline__ unsigned shares() const {
    return tiles_k() * unsigned((reader_.cols() + kTileCols - 1) / kTileCols);
  }

  __device__ __forceinline__ void copy(unsigned share) const {
    __shared__ __align__(16) unsigned tile[kTileCols * kWordsOfRow];
    const int k0 = int(share % tiles_k()) * kTileK, col0 = int(share / tiles_k()) * kTileCols;
    if (reader_.inside(k0, col0, kTileK, kTileCols)) {
      turn<Chunks::inside>(tile, k0, col0);
    } else {
      turn<Chunks::any>(tile, k0, col0);
    }
  }

 private:
  template <Chunks Known>
  __device__ __forceinline__ void turn(unsigned* tile, int k0, int col0) const {
    const int chunk = int(threadIdx.x % kChunksOfRow), number = int(threadIdx.x / kChunksOfRow);
    typename ChunkReader<Element>::Chunk read[kPasses][kWord];
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
#pragma unroll
      for (int i = 0; i < kWord; ++i) {
        const int k = k0 + (number + pass * kAtATime) * kWord + i;
        read[pass][i] = reader_.template load<Known>(k, col0 + chunk * kChunk);
      }
    }
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      uint4 rows[kWord];
#pragma unroll
      for (int i = 0; i < kWord; ++i) rows[i] = reader_.value(read[pass][i]);
#pragma unroll
      for (int part = 0; part < 4; ++part) {  // of the chunks: a word each
        unsigned w[kWord];
#pragma unroll
        for (int i = 0; i < kWord; ++i) w[i] = word(rows[i], part);
        transpose_within_words(w);
#pragma unroll
        for (int e = 0; e < kWord; ++e) put(tile, chunk, part * kWord + e, number + pass * kAtATime, w[e]);
      }
    }
    __syncthreads();
    // Written by as many threads a row as it was read by.
    const long long stride = packed_row_stride(reader_.rows(), sizeof(Element));
    const int k = k0 + chunk * 4 * kWord;
#pragma unroll
    for (int first = 0; first < kTileCols; first += kAtATime) {
      const int col = first + number;
      if (Known == Chunks::any && (col0 + col >= reader_.cols() || k >= stride)) continue;
      const unsigned* from = tile + col * kWordsOfRow + (chunk ^ col / kChunk) * 4;
      put_chunk<kCopies>(to_ + packed_offset<Element, kPaired, kCopies>(stride, col0 + col, reader_.cols(), k),
                         *reinterpret_cast<const uint4*>(from));
    }
  }

  __device__ __forceinline__ unsigned tiles_k() const { return unsigned(reader_.rows() + kTileK - 1) / kTileK; }
  static __device__ __forceinline__ unsigned word(const uint4& chunk, int i) {
    return i == 0 ? chunk.x : i == 1 ? chunk.y : i == 2 ? chunk.z : chunk.w;
  }
  // Word `k` of the row of column `e` of a chunk.
  static __device__ __forceinline__ void put(unsigned* tile, int chunk, int e, int k, unsigned value) {
    tile[(chunk * kChunk + e) * kWordsOfRow + (k ^ chunk * 4)] = value;
  }

  ChunkReader<Element> reader_;
  Element* to_;
};

}  // namespace tilesmith
