// Packing passes of operands of less than a byte (TILESMITH_SUB_BYTE): copies in the workspace whose rows run along K and start at multiples
// of 128 bytes. What lies beyond K in an operand's last bytes becomes 0. With kUnpack an element of 4 bits becomes a byte.
//
//   as stored    a thread takes 16 bytes of a row
//   turned       [K, cols] becomes [cols, K]: a thread takes a word of as many rows of K as it has elements, and exchanges rows and columns
//                of this square in its registers. Words then lie in shared memory as rows along K, and are written by 16 bytes
#pragma once

#include "kernels/tensor_core/pack.cuh"
#include "kernels/tensor_core/sub_byte_layout.cuh"

namespace tilesmith {

constexpr int kOfByte = 8 / kOperandBits;
constexpr int kOfWord = 32 / kOperandBits;
constexpr int kPackedAsBytes = kUnpack != 0 ? kOfByte : 1;  // of the copy, for one of the operand

// Row stride of the copy, bytes.
__device__ __forceinline__ long long copied_row_stride(int k) {
  return packed_row_stride(kUnpack != 0 ? k : (k + kOfByte - 1) / kOfByte, 1);
}

// 8 elements of 4 bits as bytes: the first four, then the others.
__device__ __forceinline__ void unpack(unsigned word, unsigned& first, unsigned& second) {
  unsigned even = word & 0x0f0f0f0f, odd = word >> 4 & 0x0f0f0f0f;
  if (kOperandIsSigned) {
    even |= (even & 0x08080808) * 0x1e;  // bit 3 in bits 4 to 7, too
    odd |= (odd & 0x08080808) * 0x1e;
  }
  first = __byte_perm(even, odd, 0x5140);
  second = __byte_perm(even, odd, 0x7362);
}

// 16 bytes of a row, from its byte `at` on.
__device__ __forceinline__ void put_packed(Operand* row, int at, const uint4& chunk) {
  uint4* to = reinterpret_cast<uint4*>(row + at * kPackedAsBytes);
  if constexpr (kUnpack == 0) {
    *to = chunk;
  } else {
    uint4 low, high;
    unpack(chunk.x, low.x, low.y);
    unpack(chunk.y, low.z, low.w);
    unpack(chunk.z, high.x, high.y);
    unpack(chunk.w, high.z, high.w);
    to[0] = low;
    to[1] = high;
  }
}

// A matrix [rows, cols] of row stride ld bytes, which runs along K.
class SubByteCopy {
 public:
  __device__ __forceinline__ SubByteCopy(const void* from, long long ld, int rows, int cols, Operand* to)
      : reader_(from, ld, rows, (cols + kOfByte - 1) / kOfByte), k_(cols), to_(to) {}

  __device__ __forceinline__ long long elements() const { return reader_.rows() * copied_row_stride(k_); }
  __device__ __forceinline__ unsigned shares() const {
    return unsigned((static_cast<long long>(reader_.rows()) * per_row() + kShare - 1) / kShare);
  }

  __device__ __forceinline__ void copy(unsigned share) const {
    const unsigned chunks_of_row = unsigned(per_row());
    const long long first = static_cast<long long>(share) * kShare;
    const int first_row = first <= 0xffffffffll ? int(unsigned(first) / chunks_of_row) : int(first / chunks_of_row);
    const unsigned first_chunk = unsigned(first - static_cast<long long>(first_row) * chunks_of_row);
    ChunkReader<unsigned char>::Chunk read[kPackChunks];
    int row[kPackChunks], at[kPackChunks];
#pragma unroll
    for (int i = 0; i < kPackChunks; ++i) {
      const unsigned chunk = first_chunk + i * kPackThreads + threadIdx.x;
      row[i] = first_row + int(chunk / chunks_of_row);
      at[i] = int(chunk % chunks_of_row) * kPackedChunkBytes;
      read[i] = reader_.load<Chunks::any>(row[i], at[i]);
    }
#pragma unroll
    for (int i = 0; i < kPackChunks; ++i) {
      if (row[i] >= reader_.rows()) continue;
      uint4 chunk = reader_.value(read[i]);
      clear_beyond(chunk, k_ - at[i] * kOfByte);
      put_packed(to_ + row[i] * copied_row_stride(k_), at[i], chunk);
    }
  }

 private:
  static constexpr int kShare = kPackThreads * kPackChunks;

  __device__ __forceinline__ int per_row() const { return int(copied_row_stride(k_) / (kPackedChunkBytes * kPackedAsBytes)); }

  // All but the first so many elements.
  static __device__ __forceinline__ void clear_beyond(uint4& chunk, int elements) {
    if (elements >= 4 * kOfWord) return;
    unsigned* words[] = {&chunk.x, &chunk.y, &chunk.z, &chunk.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int outside = min(max((i + 1) * kOfWord - elements, 0), kOfWord);
      *words[i] &= __funnelshift_rc(~0u, 0, outside * kOperandBits);
    }
  }

  ChunkReader<unsigned char> reader_;
  int k_;
  Operand* to_;
};

// Rows and columns of a square of elements change places: word i holds row i, and then column i.
template <int kCount>
__device__ __forceinline__ void exchange(unsigned (&w)[kCount]) {
#pragma unroll
  for (int apart = kCount / 2; apart > 0; apart /= 2) {
    const int shift = apart * kOperandBits;
    unsigned mask = 0;  // the elements whose number lacks the bit `apart`
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if ((i & apart) == 0) mask |= ((1u << kOperandBits) - 1) << i * kOperandBits;
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if ((i & apart) != 0) continue;
      const unsigned swapped = (w[i] >> shift ^ w[i + apart]) & mask;
      w[i] ^= swapped << shift;
      w[i + apart] ^= swapped;
    }
  }
}

// A matrix [rows, cols] of row stride ld bytes, whose rows are K.
class SubByteTurned {
  static constexpr int kWordsOfRow = kTurnedTileBytes / 4;  // along K
  static constexpr int kCols = turned_rows(kOperandBits);
  static constexpr int kWordsOfCols = kCols / kOfWord;
  static constexpr int kSquares = kWordsOfRow * kWordsOfCols;

 public:
  __device__ __forceinline__ SubByteTurned(const void* from, long long ld, int rows, int cols, Operand* to)
      : from_(static_cast<const unsigned char*>(from)), ld_(ld), rows_(rows), cols_(cols), to_(to) {}

  __device__ __forceinline__ long long elements() const { return cols_ * copied_row_stride(rows_); }
  __device__ __forceinline__ unsigned shares() const { return tiles_k() * unsigned((cols_ + kCols - 1) / kCols); }

  __device__ __forceinline__ void copy(unsigned share) const {
    __shared__ __align__(16) unsigned tile[kCols * kWordsOfRow];
    const int k0 = int(share % tiles_k()) * kTileK, col0 = int(share / tiles_k()) * kCols;
    const bool words = (reinterpret_cast<unsigned long long>(from_) | ld_) % 4 == 0;
    for (int square = int(threadIdx.x); square < kSquares; square += kPackThreads) {
      const int of_cols = square % kWordsOfCols, of_k = square / kWordsOfCols;
      unsigned w[kOfWord];
#pragma unroll
      for (int i = 0; i < kOfWord; ++i) w[i] = word(k0 + of_k * kOfWord + i, (col0 + of_cols * kOfWord) / kOfByte, words);
      exchange(w);
#pragma unroll
      for (int i = 0; i < kOfWord; ++i) tile[place(of_cols * kOfWord + i, of_k)] = w[i];
    }
    __syncthreads();
    const long long stride = copied_row_stride(rows_);
    for (int chunk = int(threadIdx.x); chunk < kCols * kWordsOfRow / 4; chunk += kPackThreads) {
      const int col = chunk / (kWordsOfRow / 4), at = k0 / kOfByte + chunk % (kWordsOfRow / 4) * kPackedChunkBytes;
      if (col0 + col >= cols_ || at * kPackedAsBytes >= stride) continue;
      const uint4 packed = *reinterpret_cast<const uint4*>(tile + place(col, chunk % (kWordsOfRow / 4) * 4));
      put_packed(to_ + (col0 + col) * stride, at, packed);
    }
  }

 private:
  static constexpr int kTileK = kWordsOfRow * kOfWord;

  __device__ __forceinline__ unsigned tiles_k() const { return unsigned(rows_ + kTileK - 1) / kTileK; }

  // Of a tile's column the word `k`: chunks of four are exchanged, so that what is written or read together lies in different banks.
  static __device__ __forceinline__ int place(int col, int k) { return col * kWordsOfRow + (k ^ (col / kOfWord + col) % 8 * 4); }

  // Four bytes of a row, those beyond its end 0.
  __device__ __forceinline__ unsigned word(int row, int at, bool aligned) const {
    const int bytes = row < rows_ ? (cols_ + kOfByte - 1) / kOfByte - at : 0;
    const unsigned char* from = from_ + row * ld_ + at;
    if (aligned && bytes >= 4) return __ldg(reinterpret_cast<const unsigned*>(from));
    unsigned all = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i < bytes) all |= unsigned(from[i]) << 8 * i;
    }
    return all;
  }

  const unsigned char* from_;
  long long ld_;  // bytes
  int rows_, cols_;
  Operand* to_;
};

}  // namespace tilesmith
