// Fills a stage: weights as they lie, rows of A in chunks of 16 bytes that are swizzled, and scales 4 bytes at a time.
//
// Chunk c of row r of A lies at r·kRowBytes + (c ^ r % 8)·16, so that ldmatrix reads 8 rows without conflicts. Rows of A
// that the problem does not have are left as they are: what becomes of them is never stored. Columns beyond K are zero
// in A, and so are scales beyond the last group; blocks of weights beyond K are not read.
#pragma once

#include "kernels/dequant/shape.cuh"

namespace tilesmith {

// `bytes` of 16 come from memory, the others are zero.
__device__ __forceinline__ void copy16(unsigned to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void copy4(unsigned to, const void* from, int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void close_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kPending>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// kCount pieces of work in rows of kOfRow, dealt to the block's threads: work(the thread's first row and piece; this
// one's distance from it, in rows and pieces). One of kOfRow and kThreads divides the other, so that distances are
// constants.
template <int kCount, int kOfRow, typename Do>
__device__ __forceinline__ void deal(Do work) {
  static_assert(kOfRow % kThreads == 0 || kThreads % kOfRow == 0, "rows and threads fit each other");
  const int row = int(threadIdx.x) / kOfRow, piece = int(threadIdx.x) % kOfRow;
#pragma unroll
  for (int first = 0; first < kCount; first += kThreads) {
    if (kCount - first >= kThreads || first + int(threadIdx.x) < kCount)
      work(row, piece, first / kOfRow, first % kOfRow);
  }
}

// What a thread copies, step by step. Addresses of a step are made anew from those of its first piece: as many as there
// are would fill the registers.
class Copies {
  static constexpr int kChunksOfStrip = kStepK / kWeightColumns * (kWeightBytes / 16), kChunksOfRow = kRowBytes / 16;
  // Blocks of codes of 6 bits have 48 chunks: they are dealt as if there were 64.
  static constexpr int kDealtOfStrip = kIsQ6k ? kStepK / kWeightColumns * 64 : kChunksOfStrip;

 public:
  __device__ __forceinline__ Copies(const GemmArgs& args, const Place& place)
      : args_(args), place_(place), step_(place.first_step) {
    const int blocks_of_row = (args.k + kWeightColumns - 1) / kWeightColumns,
              first_strip = (kHalves ? place.n0 / 2 : place.n0) / kStripRows;
    strip_bytes_ = unsigned(blocks_of_row) * kWeightBytes;
    row_bytes_ = unsigned(args.lda) * kElementBytes;
    const int strip = int(threadIdx.x) / kDealtOfStrip, row = int(threadIdx.x) / kChunksOfRow;
    strips_left_ = (args.n + kStripRows - 1) / kStripRows - first_strip - strip;
    if (kHalves) strips_left_ -= args.n / 2 / kStripRows;
    rows_left_ = args.m - place.m0 - row;
    weights_ = static_cast<const unsigned char*>(args.b) +
               (first_strip + strip) * static_cast<unsigned long long>(strip_bytes_) +
               step_ * (kStepK / kWeightColumns) * static_cast<unsigned long long>(kWeightBytes) +
               int(threadIdx.x) % kDealtOfStrip * 16;
    a_ = static_cast<const unsigned char*>(args.a) + (place.m0 + row) * static_cast<unsigned long long>(row_bytes_) +
         step_ * static_cast<unsigned long long>(kRowBytes) + int(threadIdx.x) % kChunksOfRow * 16;
  }

  // The next step's. What is copied of nothing is zero, and its address is not looked at.
  __device__ __forceinline__ void next(unsigned stage) {
    unsigned strip_bytes = strip_bytes_, row_bytes = row_bytes_;
    asm volatile("" : "+r"(strip_bytes), "+r"(row_bytes));  // products with them are made here
    const int k = step_ * kStepK;
    const unsigned long long gap =
        (args_.n / 2 / kStripRows - kStripsOfHalf) * static_cast<unsigned long long>(strip_bytes);
    deal<kBlockN / kStripRows * kDealtOfStrip, kDealtOfStrip>([&](int strip, int chunk, int strips, int chunks) {
      if (kIsQ6k && chunk + chunks >= kChunksOfStrip) return;
      const unsigned own = kIsQ6k ? strip * kChunksOfStrip + chunk : threadIdx.x;
      const bool is_y = kHalves && strip + strips >= kStripsOfHalf;
      const bool inside = strips - (is_y ? kStripsOfHalf : 0) < strips_left_ &&
                          (chunk + chunks) / (kWeightBytes / 16) * kWeightColumns < args_.k - k;
      copy16(stage + own * 16 + (strips * kChunksOfStrip + chunks) * 16,
          weights_ + (is_y ? gap : 0) + unsigned(strips) * static_cast<unsigned long long>(strip_bytes) + chunks * 16,
          inside ? 16 : 0);
    });
    deal<kBlockM * kChunksOfRow, kChunksOfRow>([&](int row, int chunk, int rows, int chunks) {
      if (rows >= rows_left_) return;
      const int left = (args_.k - k - (chunk + chunks) * (16 / kElementBytes)) * kElementBytes;
      copy16(stage + kBytesOfWeights + (row + rows) * kRowBytes + ((chunk + chunks) ^ (row + rows) % 8) * 16,
             a_ + unsigned(rows) * static_cast<unsigned long long>(row_bytes) + chunks * 16, max(0, min(16, left)));
    });
    scales(stage + kBytesOfWeights + kBytesOfA, args_.scales);
    if constexpr (kWeightZeros) scales(stage + kBytesOfWeights + kBytesOfA + kBytesOfScales, args_.zeros);
    if constexpr (kIsKQuant)
      scales<Super, kSuperColumns, kSupersOfStep>(
          stage + kBytesOfWeights + kBytesOfA + kBytesOfScales, args_.zeros);
    weights_ += kStepK / kWeightColumns * kWeightBytes;
    a_ += kRowBytes;
    ++step_;
  }

 private:
  // The rows of scales, or of zeros, of the step's groups.
  template <typename Term = StoredScale, int Group = kStoredGroup, int Rows = kScaleRows>
  __device__ __forceinline__ void scales(unsigned to, const void* from) const {
    constexpr int kOfWord = 4 / int(sizeof(Term)), kWords = kBlockN / kOfWord, kGroup = Group == 0 ? 1 : Group;
    const int first = Group == 0 ? 0 : step_ * kStepK / kGroup, groups = Group == 0 ? 1 : args_.k / kGroup;
    deal<Rows * kWords, kWords>([&](int row, int word, int rows, int words) {
      const int group = first + row + rows, column = (word + words) * kOfWord;
      const bool is_y = kHalves && column >= kBlockPairs;
      const int of_half = kHalves ? place_.n0 / 2 + column - (is_y ? kBlockPairs : 0) : place_.n0 + column;
      const int n = of_half + (is_y ? args_.n / 2 : 0);
      const bool inside = group < groups && of_half < (kHalves ? args_.n / 2 : args_.n);
      copy4(to + ((row + rows) * kWords + word + words) * 4,
          static_cast<const Term*>(from) + (inside ? group * static_cast<long long>(args_.n) + n : 0),
          inside ? 4 : 0);
    });
  }

  const GemmArgs& args_;
  const Place& place_;
  const unsigned char *weights_, *a_;  // of the next step, the thread's first pieces
  unsigned strip_bytes_, row_bytes_;
  int strips_left_, rows_left_;  // from these on
  int step_;
};

// Asks the L2 for the weights of the slice's first steps, while what ran before this launch still ends. It is no read:
// should that write them, the L2 has what it wrote. A thread a strip.
__device__ __forceinline__ void ask_for_weights(const GemmArgs& args, const Place& place) {
  if constexpr (kAhead != 0) {
    const bool is_y = kHalves && int(threadIdx.x) >= kStripsOfHalf;
    const int of_half =
        (kHalves ? place.n0 / 2 : place.n0) / kStripRows + int(threadIdx.x) - (is_y ? kStripsOfHalf : 0);
    if (kHalves && of_half * kStripRows >= args.n / 2) return;
    const int strip = of_half + (is_y ? args.n / 2 / kStripRows : 0),
              blocks_of_row = (args.k + kWeightColumns - 1) / kWeightColumns;
    const int first = place.first_step * (kStepK / kWeightColumns);
    const int blocks = min(blocks_of_row - first, min(place.steps, kStages) * (kStepK / kWeightColumns));
    if (int(threadIdx.x) >= kBlockN / kStripRows || strip * kStripRows >= args.n || blocks <= 0) return;
    const void* const from = static_cast<const unsigned char*>(args.b) +
                             (static_cast<long long>(strip) * blocks_of_row + first) * kWeightBytes;
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(blocks * kWeightBytes) : "memory");
  }
}

}  // namespace tilesmith
