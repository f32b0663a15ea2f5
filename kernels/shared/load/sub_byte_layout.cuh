// How the blocks of sub_byte_copy.cuh share the work, and how copied rows lie. Host and device read this same file.
#pragma once

#include "kernels/shared/load/pass_layout.cuh"

namespace tilesmith {

// Of a tile that a block turns K-major: a row of the copy has kTurnedTileBytes, still packed, and there are so many
// rows.
TILESMITH_HOST_DEVICE constexpr int turned_rows(int element_bits) { return element_bits == 1 ? 256 : 128; }

// Values of kWiden.
constexpr int kWidenToBytes = 1, kWidenByComplement = 2;

// Bytes from a row of the copy to the next.
TILESMITH_HOST_DEVICE constexpr long long copied_row_stride(int k, int element_bits, int widen) {
  const long long packed = packed_row_stride((static_cast<long long>(k) * element_bits + 7) / 8, 1);
  return widen == kWidenToBytes ? packed_row_stride(k, 1) : widen == kWidenByComplement ? 2 * packed : packed;
}

// A thread that copies rows as they are stored takes so many pieces of them, each of 16 bytes, or where elements become
// bytes of 8.
constexpr int kPackedPieces = 4;
TILESMITH_HOST_DEVICE constexpr int piece_bytes(int widen) { return widen == kWidenToBytes ? 8 : kPackedChunkBytes; }
TILESMITH_HOST_DEVICE constexpr long long pieces_of_row(long long k, int element_bits, int widen) {
  const long long stride = copied_row_stride(int(k), element_bits, widen);
  return stride / (widen == 0 ? kPackedChunkBytes : 2 * piece_bytes(widen));
}

}  // namespace tilesmith
