// Fills a stage's tile of one operand by cp.async: Width rows or columns of C by kBlockK elements of K, K outermost.
//
// An operand whose rows run along M or N is copied in chunks of kCopyBytes. One whose rows run along K is turned on its
// way: word by word, 8 neighbours along K of 4 rows a warp, so that whole sectors are read.
//
// What lies outside C is never stored, so whole steps read any element in its place: no copy of them is predicated.
// Elements outside K must be zero; only the last steps can reach there.
#pragma once

#include "kernels/shared/load/tile_copy.cuh"
#include "kernels/ffma/tile.cuh"

namespace tilesmith {

// Starts a copy to a place in shared memory, of which the first `valid` bytes are read and the rest become zero.
template <int Bytes>
__device__ __forceinline__ void copy_chunk(unsigned to, const Operand* from, int valid = Bytes) {
  if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(to), "l"(from), "r"(valid), "n"(Bytes) : "memory");
  }
}

struct OperandArgs {
  const Operand* matrix;
  long long ld;
  int extent;  // rows or columns of C
};

template <int Width, int Stride, bool AlongK>
class StepCopy;

// Rows along M or N: [k][x].
template <int Width, int Stride>
class StepCopy<Width, Stride, false> {
  static constexpr int kChunk = kCopyBytes / kElement;  // elements
  static constexpr int kChunksPerRow = Width / kChunk;
  static constexpr int kThreadsPerRow = kThreads < kChunksPerRow ? kThreads : kChunksPerRow;
  static constexpr int kColumnPasses = kChunksPerRow / kThreadsPerRow;
  static constexpr int kRowsPerPass = kThreads / kThreadsPerRow;
  static constexpr int kRowPasses = (kBlockK + kRowsPerPass - 1) / kRowsPerPass;
  static constexpr bool kSpareThreads = kBlockK % kRowsPerPass != 0;
  static_assert(Width % kChunk == 0 && kChunksPerRow % kThreadsPerRow == 0 && kThreads % kThreadsPerRow == 0,
                "the block's threads must split into whole rows");

 public:
  static constexpr int kCopies = kRowPasses * kColumnPasses;  // of a thread and step

  // x0: the tile's first row or column of C. k0: the first step.
  __device__ __forceinline__ StepCopy(const OperandArgs& operand, int x0, int k0)
      : source_(operand.matrix + (k0 + row()) * operand.ld) {
    shared_ = (row() * Stride + column()) * kElement;
#pragma unroll
    for (int j = 0; j < kColumnPasses; ++j) {
      const int x = x0 + column() + j * kApart;
      offset_[j] = x < operand.extent ? x : 0;
    }
  }

  // Whether steps inside K are whole: no chunk reaches over the end of a row.
  static __device__ __forceinline__ bool splits_whole(int x0, int extent) {
    return x0 + Width <= extent || extent % kChunk == 0;
  }

  // A copy of a step that has `k_left` of K. x0: as above.
  template <bool Whole>
  __device__ __forceinline__ void copy(
      const OperandArgs& operand, unsigned tile, int number, int x0, int k_left) const {
    const int i = number / kColumnPasses, j = number % kColumnPasses;
    if (kSpareThreads && row() + i * kRowsPerPass >= kBlockK) return;
    const unsigned to = tile + shared_ + (i * kRowsPerPass * Stride + j * kApart) * kElement;
    const Operand* from = source_ + i * kRowsPerPass * operand.ld + offset_[j];
    if constexpr (Whole) {
      copy_chunk<kCopyBytes>(to, from);
    } else {
      const int left = operand.extent - x0 - column() - j * kApart;
      const int inside = row() + i * kRowsPerPass < k_left ? max(0, min(left, kChunk)) : 0;
      copy_chunk<kCopyBytes>(to, inside > 0 ? from : operand.matrix, inside * kElement);
    }
  }

  __device__ __forceinline__ void next_step(const OperandArgs& operand) { source_ += kNextStep * operand.ld; }

 private:
  static constexpr int kApart = kThreadsPerRow * kChunk;  // from one column pass to the next

  // Of this thread's first chunk, in the tile.
  static __device__ __forceinline__ int row() { return int(threadIdx.x) / kThreadsPerRow; }
  static __device__ __forceinline__ int column() { return int(threadIdx.x) % kThreadsPerRow * kChunk; }

  const Operand* source_;      // the first chunk's row in the step
  unsigned shared_;            // where it goes in the tile, bytes
  int offset_[kColumnPasses];  // where chunks begin in a row; those that lie outside are taken from the row's first
};

// Rows along K: [x][k].
template <int Width, int Stride>
class StepCopy<Width, Stride, true> {
  static constexpr int kNeighbours = 8;  // along K
  static constexpr int kRowsOfBlock = kThreads / kNeighbours;
  static constexpr int kRowsPerPass = kRowsOfBlock < Width ? kRowsOfBlock : Width;
  static constexpr int kGroupsPerPass = kRowsOfBlock / kRowsPerPass;  // of neighbours
  static constexpr int kRowPasses = Width / kRowsPerPass;
  static constexpr int kGroupPasses = kBlockK / kNeighbours / kGroupsPerPass;
  static_assert(Width % kRowsPerPass == 0 && kRowsOfBlock % kRowsPerPass == 0 &&
                    kBlockK % (kNeighbours * kGroupsPerPass) == 0,
                "the block's threads must split into whole groups of rows");

 public:
  static constexpr int kCopies = kRowPasses * kGroupPasses;

  __device__ __forceinline__ StepCopy(const OperandArgs& operand, int x0, int k0)
      : source_(operand.matrix + x0 * operand.ld + k0 + k()) {
    const int row = int(threadIdx.x) / kNeighbours % kRowsPerPass;
    shared_ = (k() * Stride + row) * kElement;
#pragma unroll
    for (int i = 0; i < kRowPasses; ++i) {
      const int of_tile = row + i * kRowsPerPass, left = operand.extent - x0;
      offset_[i] = (of_tile < left ? of_tile : left - 1) * int(operand.ld);  // fits: Family::refusal
    }
  }

  static __device__ __forceinline__ bool splits_whole(int, int) { return true; }

  template <bool Whole>
  __device__ __forceinline__ void copy(const OperandArgs& operand, unsigned tile, int number, int, int k_left) const {
    const int i = number / kGroupPasses, j = number % kGroupPasses;
    constexpr int kApart = kNeighbours * kGroupsPerPass;
    const unsigned to = tile + shared_ + (j * kApart * Stride + i * kRowsPerPass) * kElement;
    const Operand* from = source_ + offset_[i] + j * kApart;
    if constexpr (Whole) {
      copy_chunk<kElement>(to, from);
    } else {
      const bool inside = k() + j * kApart < k_left;
      copy_chunk<kElement>(to, inside ? from : operand.matrix, inside ? kElement : 0);
    }
  }

  __device__ __forceinline__ void next_step(const OperandArgs&) { source_ += kNextStep; }

 private:
  // Of this thread's first element, in the step.
  static __device__ __forceinline__ int k() {
    return int(threadIdx.x) / kNeighbours / kRowsPerPass * kNeighbours + int(threadIdx.x) % kNeighbours;
  }

  const Operand* source_;   // that element of the tile's first row
  unsigned shared_;         // where it goes in the tile, bytes
  int offset_[kRowPasses];  // of the thread's rows from the tile's first
};

// Both operands' steps. What whole steps need not know is asked of the arguments again, so that it takes no registers.
class Writer {
  using CopyA = StepCopy<kBlockM, kStrideA, kAAlongK>;
  using CopyB = StepCopy<kBlockN, kStrideB, kBAlongK>;

 public:
  static constexpr int kAhead = kStages - 1;
  static constexpr int kCopies = CopyA::kCopies + CopyB::kCopies;

  __device__ __forceinline__ Writer(const GemmArgs& args, const Work& work)
      : a_(of_a(args), work.m0, work.k0), b_(of_b(args), work.n0, work.k0) {}

  // Of a slice's first steps, how many are whole.
  static __device__ __forceinline__ int whole_steps(const GemmArgs& args, const Work& work) {
    const bool whole = CopyA::splits_whole(work.m0, args.m) && CopyB::splits_whole(work.n0, args.n);
    const int last = work.k - kBlockK - work.k0;  // where a whole step may begin, from the first on
    return whole && last >= 0 ? last / kNextStep + 1 : 0;
  }

  // Starts this thread's copies [First, Last) of the slice's step of that number.
  template <bool Whole, int First, int Last>
  __device__ __forceinline__ void copy(const GemmArgs& args, const Work& work, int step, unsigned stage) const {
    int k_left = work.k - work.k0 - step * kNextStep, m0 = work.m0, n0 = work.n0;
    if (!Whole) asm volatile("" : "+r"(k_left), "+r"(m0), "+r"(n0));  // what is derived from them is not kept beside all the sums
#pragma unroll
    for (int number = First; number < Last; ++number) {
      if (number < CopyA::kCopies) {
        a_.template copy<Whole>(of_a(args), stage, number, m0, k_left);
      } else {
        b_.template copy<Whole>(of_b(args), stage + kElementsOfA * kElement, number - CopyA::kCopies, n0, k_left);
      }
    }
  }

  __device__ __forceinline__ void next_step(const GemmArgs& args) {
    a_.next_step(of_a(args));
    b_.next_step(of_b(args));
  }

 private:
  static __device__ __forceinline__ OperandArgs of_a(const GemmArgs& args) {
    return {static_cast<const Operand*>(args.a), args.lda, args.m};
  }
  static __device__ __forceinline__ OperandArgs of_b(const GemmArgs& args) {
    return {static_cast<const Operand*>(args.b), args.ldb, args.n};
  }

  CopyA a_;
  CopyB b_;
};

}  // namespace tilesmith
