// Packing passes of operands of less than a byte (kOperandBits below 8): copies in the workspace whose rows run along K
// and start at multiples of 128 bytes. What lies beyond K in an operand's last bytes becomes 0. What kWiden asks for is
// made on the way (kernels/problem/sub_byte.hpp).
//
//   as stored    a thread takes pieces of rows, each so long that 16 bytes of the copy come of it (or twice 16: a piece and its complement)
//   turned       [K, cols] becomes [cols, K]: a thread takes a word of as many rows of K as it has elements, and exchanges rows and columns
//                of this square in its registers. Words then lie in shared memory as rows along K, and are written by
//                16 bytes
#pragma once

#include "kernels/shared/load/chunk_reader.cuh"
#include "kernels/shared/load/sub_byte_layout.cuh"

namespace tilesmith {

constexpr int kSubByteBits = kOperandBits < 8 ? kOperandBits : 4;  // of wider operands nothing in this file is used
constexpr int kOfByte = 8 / kSubByteBits;
constexpr int kOfWord = 32 / kSubByteBits;

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

// All but the first so many elements become 0.
__device__ __forceinline__ void clear_beyond(unsigned& word, int elements) {
  if (elements < kOfWord) word &= elements <= 0 ? 0 : (1u << elements * kSubByteBits) - 1;
}
__device__ __forceinline__ void clear_beyond(uint4& words, int elements) {
  clear_beyond(words.x, elements);
  clear_beyond(words.y, elements - kOfWord);
  clear_beyond(words.z, elements - 2 * kOfWord);
  clear_beyond(words.w, elements - 3 * kOfWord);
}

// What becomes of a row of `k` elements. kIsB: the complement comes first.
template <bool kIsB>
class CopiedRow {
 public:
  __device__ __forceinline__ CopiedRow(Operand* row, int k) : row_(row), k_(k) {}

  // 8 bytes of the operand's row, from its byte `at` on, become 16.
  __device__ __forceinline__ void put_as_bytes(int at, unsigned low, unsigned high) const {
    uint4 bytes;
    unpack(low, bytes.x, bytes.y);
    unpack(high, bytes.z, bytes.w);
    *reinterpret_cast<uint4*>(row_ + 2 * at) = bytes;
  }
  // 16 bytes of it, which have nothing beyond K.
  __device__ __forceinline__ void put(int at, const uint4& words) const {
    if constexpr (kWiden == kWidenToBytes) {
      put_as_bytes(at, words.x, words.y);
      if (2 * (at + 8) < copied_row_stride(k_, kSubByteBits, kWiden)) put_as_bytes(at + 8, words.z, words.w);
    } else if constexpr (kWiden == kWidenByComplement) {
      uint4 others = make_uint4(~words.x, ~words.y, ~words.z, ~words.w);
      clear_beyond(others, k_ - at * kOfByte);
      const long long half = copied_row_stride(k_, kSubByteBits, 0);
      *reinterpret_cast<uint4*>(row_ + (kIsB ? half : 0) + at) = words;
      *reinterpret_cast<uint4*>(row_ + (kIsB ? 0 : half) + at) = others;
    } else {
      *reinterpret_cast<uint4*>(row_ + at) = words;
    }
  }

 private:
  Operand* row_;
  int k_;
};

// A matrix [rows, cols] of row stride ld bytes, which runs along K.
template <bool kIsB>
class SubByteCopy {
 public:
  __device__ __forceinline__ SubByteCopy(const void* from, long long ld, int rows, int cols, Operand* to)
      : reader_(from, ld, rows, (cols + kOfByte - 1) / kOfByte),
        from_(static_cast<const unsigned char*>(from)),
        ld_(ld),
        k_(cols),
        to_(to),
        pairs_((reinterpret_cast<unsigned long long>(from) | ld) % 8 == 0) {}

  __device__ __forceinline__ long long elements() const { return reader_.rows() * stride(); }
  __device__ __forceinline__ unsigned shares() const {
    return unsigned((static_cast<long long>(reader_.rows()) * per_row() + kShare - 1) / kShare);
  }

  __device__ __forceinline__ void copy(unsigned share) const {
    const unsigned pieces_of_row = unsigned(per_row());
    const long long first = static_cast<long long>(share) * kShare;
    if (kWiden == kWidenToBytes && pairs_ && ld_ == 8 * per_row() && ld_ * kOfByte == k_) return copy_through(first);
    const int first_row = first <= 0xffffffffll ? int(unsigned(first) / pieces_of_row) : int(first / pieces_of_row);
    const unsigned first_piece = unsigned(first - static_cast<long long>(first_row) * pieces_of_row);
    int row[kPackedPieces], at[kPackedPieces];
#pragma unroll
    for (int i = 0; i < kPackedPieces; ++i) {
      const unsigned piece = first_piece + i * kPackThreads + threadIdx.x;
      row[i] = first_row + int(piece / pieces_of_row);
      at[i] = int(piece % pieces_of_row) * piece_bytes(kWiden);
    }
    if constexpr (kWiden == kWidenToBytes) {
      uint2 read[kPackedPieces];
#pragma unroll
      for (int i = 0; i < kPackedPieces; ++i) read[i] = pair(row[i], at[i]);
#pragma unroll
      for (int i = 0; i < kPackedPieces; ++i) {
        if (row[i] >= reader_.rows()) continue;
        clear_beyond(read[i].x, k_ - at[i] * kOfByte);
        clear_beyond(read[i].y, k_ - at[i] * kOfByte - kOfWord);
        CopiedRow<kIsB>(to_ + row[i] * stride(), k_).put_as_bytes(at[i], read[i].x, read[i].y);
      }
    } else {
      ChunkReader<unsigned char>::Chunk read[kPackedPieces];
#pragma unroll
      for (int i = 0; i < kPackedPieces; ++i) read[i] = reader_.load<Chunks::any>(row[i], at[i]);
#pragma unroll
      for (int i = 0; i < kPackedPieces; ++i) {
        if (row[i] >= reader_.rows()) continue;
        uint4 words = reader_.value(read[i]);
        clear_beyond(words, k_ - at[i] * kOfByte);
        CopiedRow<kIsB>(to_ + row[i] * stride(), k_).put(at[i], words);
      }
    }
  }

 private:
  static constexpr int kShare = kPackThreads * kPackedPieces;

  __device__ __forceinline__ long long stride() const { return copied_row_stride(k_, kSubByteBits, kWiden); }
  __device__ __forceinline__ long long per_row() const { return pieces_of_row(k_, kSubByteBits, kWiden); }

  // Rows that lie one behind the other, and become such rows: without a division, which takes longer than the copy.
  __device__ __forceinline__ void copy_through(long long first) const {
    const long long pieces = reader_.rows() * per_row() - first;
    const uint2* from = reinterpret_cast<const uint2*>(from_) + first;
    const CopiedRow<kIsB> to(to_ + first * kPackedChunkBytes, k_);
    const int here = pieces < kShare ? int(pieces) : kShare;
    uint2 read[kPackedPieces];
#pragma unroll
    for (int i = 0; i < kPackedPieces; ++i) {
      const int piece = i * kPackThreads + int(threadIdx.x);
      if (piece < here) read[i] = __ldg(from + piece);
    }
#pragma unroll
    for (int i = 0; i < kPackedPieces; ++i) {
      const int piece = i * kPackThreads + int(threadIdx.x);
      if (piece < here) to.put_as_bytes(8 * piece, read[i].x, read[i].y);
    }
  }

  // 8 bytes of a row, 0 beyond its end.
  __device__ __forceinline__ uint2 pair(int row, int at) const {
    const int bytes = row < reader_.rows() ? reader_.cols() - at : 0;
    const unsigned char* from = from_ + row * ld_ + at;
    if (pairs_ && bytes >= 8) return __ldg(reinterpret_cast<const uint2*>(from));
    unsigned words[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (i < bytes) words[i / 4] |= unsigned(from[i]) << 8 * (i % 4);
    }
    return make_uint2(words[0], words[1]);
  }

  ChunkReader<unsigned char> reader_;
  const unsigned char* from_;
  long long ld_;
  int k_;
  Operand* to_;
  bool pairs_;  // whether all pairs of words are aligned
};

// Rows and columns of a square of elements change places: word i holds row i, and then column i.
template <int kCount>
__device__ __forceinline__ void exchange(unsigned (&w)[kCount]) {
#pragma unroll
  for (int apart = kCount / 2; apart > 0; apart /= 2) {
    const int shift = apart * kSubByteBits;
    unsigned mask = 0;  // the elements whose number lacks the bit `apart`
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if ((i & apart) == 0) mask |= ((1u << kSubByteBits) - 1) << i * kSubByteBits;
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

// One for both operands: a block turns a tile of one of them.
__device__ __forceinline__ unsigned* turned_tile() {
  __shared__ __align__(16) unsigned tile[turned_rows(kSubByteBits) * kTurnedTileBytes / 4];
  return tile;
}

// A matrix [rows, cols] of row stride ld bytes, whose rows are K.
template <bool kIsB>
class SubByteTurned {
  static constexpr int kWordsOfRow = kTurnedTileBytes / 4;  // along K
  static constexpr int kCols = turned_rows(kSubByteBits);
  static constexpr int kWordsOfCols = kCols / kOfWord;
  static constexpr int kSquares = kWordsOfRow * kWordsOfCols;

 public:
  __device__ __forceinline__ SubByteTurned(const void* from, long long ld, int rows, int cols, Operand* to)
      : from_(static_cast<const unsigned char*>(from)), ld_(ld), rows_(rows), cols_(cols), to_(to) {}

  __device__ __forceinline__ long long elements() const { return cols_ * stride(); }
  __device__ __forceinline__ unsigned shares() const { return tiles_k() * unsigned((cols_ + kCols - 1) / kCols); }

  __device__ __forceinline__ void copy(unsigned share) const {
    unsigned* const tile = turned_tile();
    const int k0 = int(share % tiles_k()) * kTileK, col0 = int(share / tiles_k()) * kCols;
    const bool words = (reinterpret_cast<unsigned long long>(from_) | ld_) % 4 == 0;
    for (int square = int(threadIdx.x); square < kSquares; square += kPackThreads) {
      const int of_cols = square % kWordsOfCols, of_k = square / kWordsOfCols;
      unsigned w[kOfWord];
#pragma unroll
      for (int i = 0; i < kOfWord; ++i)
        w[i] = word(k0 + of_k * kOfWord + i, (col0 + of_cols * kOfWord) / kOfByte, words);
      exchange(w);
#pragma unroll
      for (int i = 0; i < kOfWord; ++i) tile[place(of_cols * kOfWord + i, of_k)] = w[i];
    }
    __syncthreads();
    const long long packed_stride = packed_row_stride((rows_ + kOfByte - 1) / kOfByte, 1);
    for (int chunk = int(threadIdx.x); chunk < kCols * kWordsOfRow / 4; chunk += kPackThreads) {
      const int col = chunk / (kWordsOfRow / 4), at = k0 / kOfByte + chunk % (kWordsOfRow / 4) * kPackedChunkBytes;
      if (col0 + col >= cols_ || at >= packed_stride || (kWiden == kWidenToBytes && 2 * at >= stride())) continue;
      const uint4 packed = *reinterpret_cast<const uint4*>(tile + place(col, chunk % (kWordsOfRow / 4) * 4));
      CopiedRow<kIsB>(to_ + (col0 + col) * stride(), rows_).put(at, packed);
    }
  }

 private:
  static constexpr int kTileK = kWordsOfRow * kOfWord;

  __device__ __forceinline__ long long stride() const { return copied_row_stride(rows_, kSubByteBits, kWiden); }
  __device__ __forceinline__ unsigned tiles_k() const { return unsigned(rows_ + kTileK - 1) / kTileK; }

  // Of a tile's column the word `k`: chunks of four are exchanged, so that what is written or read together lies in
  // different banks.
  static __device__ __forceinline__ int place(int col, int k) {
    return col * kWordsOfRow + (k ^ (col / kOfWord + col) % 8 * 4);
  }

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
