// From the sums of a warp to C by the tensor memory accelerator: a warp puts a box of 16 rows × 128 bytes of C into
// shared memory, and has it stored. The warp goes on at once; only who writes to the same place next waits, until the
// box was read. Rows of a box lie one behind the other, their 16-byte chunks exchanged (chunk XOR row % 8), as the
// accelerator expects them and so that no banks clash. What lies outside C it leaves out, by whole chunks.
#pragma once

#include "kernels/wgmma/group_tile.cuh"

namespace tilesmith {

constexpr int kBoxCols = kBoxRowBytes / int(sizeof(Output));
constexpr int kStoringWarps = kWarpgroups * 4;
// That a block has room for: all of them in the ring's place; else as few a warp as keep it going, and in ping-pong,
// where the other group multiplies meanwhile, one.
constexpr int kBoxes = kSchedule == kOneTile ? kBlockM * kBlockN * int(sizeof(Output)) / kBoxBytes
                                             : kStoringWarps * (kSchedule == kCooperative ? 2 : 1);
constexpr int kBoxesOfWarp = kBoxes / kStoringWarps;

// Four 8×8 matrices of 16-bit elements as an instruction leaves them, a row of 16 bytes where each lane says; or their
// columns.
template <bool Columns = false>
__device__ __forceinline__ void store_matrices(unsigned to, const unsigned (&w)[4]) {
  if constexpr (Columns) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(w[0]),
                 "r"(w[1]), "r"(w[2]), "r"(w[3])
                 : "memory");
  } else {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(w[0]), "r"(w[1]),
                 "r"(w[2]), "r"(w[3])
                 : "memory");
  }
}

// Two neighbours as words.
template <typename Bits>
__device__ __forceinline__ Bits bits_of(const Stored (&run)[2]) {
  StoredVector<2> vector;
  vector.x[0] = run[0];
  vector.x[1] = run[1];
  static_assert(sizeof(Bits) == sizeof(vector));
  return *reinterpret_cast<const Bits*>(&vector);
}

// A warp's sums on their way into a box: of 32 bits, 8 bytes a store; of 16 bits, four 8×8 matrices a store.
template <int kElementBytes = int(sizeof(Stored))>
class BoxWriter {
  static constexpr int kInstructions = kBoxCols / 8;  // 8 columns of a box each
  using Run = Stored[2];

 public:
  __device__ __forceinline__ explicit BoxWriter(const Destination& to) : to_(to), lane_(int(threadIdx.x % 32)) {
    asm volatile("" : "+r"(lane_));  // what is derived from it is not computed ahead, beside all the sums
  }

  // The box of the sums' row group i that begins at column `col` of the warp's tile.
  __device__ __forceinline__ void put(const WarpSums& sums, int i, int col, unsigned box) const {
    const int g = lane_ / 4, t = lane_ % 4;
    // Of neighbouring rows the second takes its columns in another order, or both would meet in the same banks.
    const int other = kElementBytes == 4 ? g % 2 * 2 : 0;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      Run runs[kInstructions];
#pragma unroll
      for (int j = 0; j < kInstructions; ++j) {
        const int mine = col / 8 + j, others = col / 8 + (j ^ 2);
        Accumulator run[2];
#pragma unroll
        for (int e = 0; e < 2; ++e) run[e] = other != 0 ? sums.sum(i, r, others, e) : sums.sum(i, r, mine, e);
        to_.finish(run, runs[j]);
      }
      if constexpr (kElementBytes == 4) {
        const unsigned row = box + unsigned((8 * r + g) * kBoxRowBytes + t % 2 * 8);
#pragma unroll
        for (int j = 0; j < kInstructions; ++j) {
          const unsigned chunk = unsigned(2 * (j ^ other) + t / 2) ^ unsigned(g);
          put_words(row + chunk * 16, runs[j]);
        }
      } else if constexpr (kElementBytes == 2) {  // there are no boxes of bytes
        const unsigned row = box + unsigned((8 * r + lane_ % 8) * kBoxRowBytes);
#pragma unroll
        for (int j = 0; j < kInstructions; j += 4) {
          unsigned w[4];
#pragma unroll
          for (int matrix = 0; matrix < 4; ++matrix) w[matrix] = bits_of<unsigned>(runs[j + matrix]);
          store_matrices(row + (unsigned(j + lane_ / 8) ^ unsigned(lane_ % 8)) * 16, w);
        }
      }
    }
  }

 private:
  static __device__ __forceinline__ void put_words(unsigned to, const Run& run) {
    struct alignas(8) Words {
      unsigned first, second;
    };
    const Words w = bits_of<Words>(run);
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(to), "r"(w.first), "r"(w.second) : "memory");
  }

  const Destination& to_;
  int lane_;
};

// The rows of a box that are the group's, where the box has rows of the next one, too: by the warp that wrote them, 16
// bytes a lane.
__device__ __forceinline__ void store_part_of_box(const Destination& to, int m, int n, unsigned box) {
  constexpr int kChunks = kBoxRowBytes / 16, kColsOfChunk = kBoxCols / kChunks;
#pragma unroll
  for (int i = 0; i < kBoxRows * kChunks / 32; ++i) {
    const int at = i * 32 + int(threadIdx.x % 32), row = at / kChunks, chunk = at % kChunks;
    uint4 words;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
                 : "r"(box + unsigned(row * kBoxRowBytes + (chunk ^ row % 8) * 16)));
    const int col = n + chunk * kColsOfChunk;
    if (m + row < to.rows() && col < to.cols()) *reinterpret_cast<uint4*>(to.place(m + row, col)) = words;
  }
  __syncwarp();  // before the box is written again
}

// Through the warp's own boxes. (m0, n0): where the warp's tile lies in C.
__device__ __forceinline__ void store_by_boxes(
    const WarpSums& sums, const Destination& to, const MapOfEntry& c, int m0, int n0, unsigned char* shared) {
  const unsigned boxes =
      unsigned(__cvta_generic_to_shared(shared)) + threadIdx.x / 32 * unsigned(kBoxesOfWarp * kBoxBytes);
  constexpr int kColumns = WarpSums::kColumns, kBoxesOfRow = kColumns / kBoxCols,
                kBoxesOfTile = kLeftTiles * kBoxesOfRow;
  const BoxWriter<> writer(to);
#pragma unroll
  for (int i = 0; i < kLeftTiles; ++i) {
#pragma unroll
    for (int col = 0; col < kColumns; col += kBoxCols) {
      const int number = i * kBoxesOfRow + col / kBoxCols;
      const unsigned box = boxes + unsigned(number % kBoxesOfWarp * kBoxBytes);
      if constexpr (kPersistent) {  // else each has a place of its own
        // By the thread that does them; others have none to wait for. The last tile may have ended with this one's
        // first box.
        if (number == 0 && kBoxesOfTile % kBoxesOfWarp != 0) {
          wait_until_stores_are_read<0>();
        } else {
          wait_until_stores_are_read<kBoxesOfWarp - 1>();
        }
        __syncwarp();
      }
      const int m = m0 + WarpSums::row_of(i, 0, 0), n = n0 + col;
      writer.put(sums, i, col, box);
      publish_to_accelerator();
      __syncwarp();
      if (kIsGrouped && m + kBoxRows > to.rows()) {
        store_part_of_box(to, m, n, box);
      } else if (m < to.rows() && n < to.cols()) {
        store_box(c, n, m, box);
      }
      end_store();
    }
  }
}

}  // namespace tilesmith
