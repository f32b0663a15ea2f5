// Fills a stage: weights as they lie, rows of A in chunks of 16 bytes that are swizzled, and scales 4 bytes at a time.
//
// Chunk c of row r of A lies at r·kStepK·2 + (c ^ r % 8)·16, so that ldmatrix reads 8 rows without conflicts. Rows of A that the problem
// does not have are left as they are: what becomes of them is never stored. Columns beyond K are zero in A, and so are scales beyond the
// last group; blocks of weights beyond K are not read.
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

// kCount pieces of work, dealt to the block's threads.
template <int kCount, typename Do>
__device__ __forceinline__ void deal(Do work) {
#pragma unroll
  for (int first = 0; first < kCount; first += kThreads) {
    const int i = first + int(threadIdx.x);
    if (kCount - first >= kThreads || i < kCount) work(i);
  }
}

// In front of a step's copies: what is derived from it is computed anew, and does not take registers from step to step.
template <typename Word>
__device__ __forceinline__ void not_ahead(Word& word) {
  asm volatile("" : "+r"(word));
}

__device__ __forceinline__ void copy_weights(unsigned stage, const GemmArgs& args, const Place& place, int step) {
  constexpr int kChunksOfStrip = kStepK / kWeightColumns * (kWeightBytes / 16);
  const int blocks_of_row = (args.k + kWeightColumns - 1) / kWeightColumns, first = step * (kStepK / kWeightColumns);
  const int first_strip = place.n0 / kStripRows;
  int strips_left = (args.n + kStripRows - 1) / kStripRows - first_strip, chunks_left = (blocks_of_row - first) * (kWeightBytes / 16);
  unsigned strip_bytes = unsigned(blocks_of_row) * kWeightBytes;
  not_ahead(strips_left);
  not_ahead(chunks_left);
  not_ahead(strip_bytes);
  const unsigned char* const from = static_cast<const unsigned char*>(args.b) + first_strip * static_cast<unsigned long long>(strip_bytes) +
                                    static_cast<unsigned long long>(first) * kWeightBytes;
  deal<kBlockN / kStripRows * kChunksOfStrip>([&](int i) {
    const int strip = i / kChunksOfStrip, chunk = i % kChunksOfStrip;
    const bool inside = strip < strips_left && chunk < chunks_left;
    copy16(stage + i * 16, inside ? from + strip * static_cast<unsigned long long>(strip_bytes) + chunk * 16 : args.b, inside ? 16 : 0);
  });
}

__device__ __forceinline__ void copy_a(unsigned stage, const GemmArgs& args, const Place& place, int step) {
  constexpr int kChunksOfRow = kStepK / 8;
  int rows_left = args.m - place.m0, bytes_left = (args.k - step * kStepK) * 2;
  unsigned row_bytes = unsigned(args.lda) * 2;
  not_ahead(rows_left);
  not_ahead(bytes_left);
  not_ahead(row_bytes);
  const unsigned char* const from =
      static_cast<const unsigned char*>(args.a) + place.m0 * static_cast<unsigned long long>(row_bytes) + step * (kStepK * 2ull);
  deal<kBlockM * kChunksOfRow>([&](int i) {
    const int row = i / kChunksOfRow, chunk = i % kChunksOfRow;
    if (row >= rows_left) return;
    const int bytes = max(0, min(16, bytes_left - chunk * 16));
    copy16(stage + row * (kStepK * 2) + (chunk ^ row % 8) * 16, bytes > 0 ? from + row * static_cast<unsigned long long>(row_bytes) + chunk * 16 : args.a, bytes);
  });
}

// The rows of scales, or of zeros, of the step's groups.
__device__ __forceinline__ void copy_scales(unsigned stage, const void* scales, const GemmArgs& args, const Place& place, int step) {
  constexpr int kOfWord = 4 / int(sizeof(WeightScale)), kWords = kBlockN / kOfWord;
  const int first = kWeightGroup == 0 ? 0 : step * kStepK / (kWeightGroup == 0 ? 1 : kWeightGroup);
  const int groups = kWeightGroup == 0 ? 1 : args.k / (kWeightGroup == 0 ? 1 : kWeightGroup);
  deal<kGroupsOfStep * kWords>([&](int i) {
    const int group = first + i / kWords, n = place.n0 + i % kWords * kOfWord;
    const bool inside = group < groups && n < args.n;
    copy4(stage + i * 4, static_cast<const WeightScale*>(scales) + (inside ? static_cast<long long>(group) * args.n + n : 0), inside ? 4 : 0);
  });
}

// Asks the L2 for the weights of the slice's first steps, while what ran before this launch still ends. It is no read: should that write
// them, the L2 has what it wrote. A thread a strip.
__device__ __forceinline__ void ask_for_weights(const GemmArgs& args, const Place& place) {
  if constexpr (kEarlyLaunch != 0) {
    const int strip = place.n0 / kStripRows + int(threadIdx.x), blocks_of_row = (args.k + kWeightColumns - 1) / kWeightColumns;
    const int first = place.first_step * (kStepK / kWeightColumns);
    const int blocks = min(blocks_of_row - first, min(place.steps, kStages) * (kStepK / kWeightColumns));
    if (int(threadIdx.x) >= kBlockN / kStripRows || strip * kStripRows >= args.n || blocks <= 0) return;
    const void* const from = static_cast<const unsigned char*>(args.b) + (static_cast<long long>(strip) * blocks_of_row + first) * kWeightBytes;
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(blocks * kWeightBytes) : "memory");
  }
}

__device__ __forceinline__ void copy_step(unsigned stage, const GemmArgs& args, const Place& place, int step) {
  copy_weights(stage, args, place, step);
  copy_a(stage + kBytesOfWeights, args, place, step);
  copy_scales(stage + kBytesOfWeights + kBytesOfA, args.coded.scales, args, place, step);
  if constexpr (kWeightZeros) copy_scales(stage + kBytesOfWeights + kBytesOfA + kBytesOfScales, args.coded.zeros, args, place, step);
}

}  // namespace tilesmith
