// The main loop of the family `ffma`.
//
//   copy      s0 s1 s2 | s3   s4   s5             kStages = 4
//   multiply           | s0   s1   s2   ...       one barrier a step
//
// Within a step a thread multiplies k by k: kThreadM · kThreadN FMAs, while the next k's rows of the stage come from
// shared memory into the other buffer of fragments, over the barrier too. A step's copies are started between them.
// With kSliceK > 1 as many groups of warps share the tile, each taking a part of every step.
#pragma once

#include "kernels/ffma/copy.cuh"

namespace tilesmith {

constexpr int kStepK = kBlockK / kSliceK;  // of a step, for each slice's warps
static_assert(
    kBlockK % kSliceK == 0 && kStepK % 2 == 0, "the two buffers must change places a whole number of times a step");

struct Sums {
  Accumulator x[kThreadM][kThreadN] = {};
};

struct Fragment {
  Operand a[kThreadM], b[kThreadN];

  // Where this thread's first elements of the first rows of a stage lie in shared memory, and which row is loaded.
  __device__ __forceinline__ void load(unsigned from_a, unsigned from_b, int k) {
#pragma unroll
    for (int p = 0; p < kPiecesM; ++p)
      load_piece(a + p * kPiece, from_a + (k * kStrideA + row_of(p * kPiece)) * kElement);
#pragma unroll
    for (int p = 0; p < kPiecesN; ++p)
      load_piece(b + p * kPiece, from_b + (k * kStrideB + column_of(p * kPiece)) * kElement);
  }

  // Line by line, forth and back: neighbours share an operand, which the multiplier then need not read again. Which way
  // leaves the compiler fewer operands in one bank of registers differs from tile to tile.
  __device__ __forceinline__ void multiply(Sums& sums) const {
#pragma unroll
    for (int number = 0; number < kThreadM * kThreadN; ++number) {
      constexpr int kLine = kByColumns ? kThreadM : kThreadN;
      const int line = number / kLine, forth = number % kLine, along = line % 2 == 0 ? forth : kLine - 1 - forth;
      const int i = kByColumns ? along : line, j = kByColumns ? line : along;
      sums.x[i][j] = __fmaf_rn(a[i], b[j], sums.x[i][j]);
    }
  }

 private:
  static __device__ __forceinline__ void load_piece(Operand* to, unsigned from) {
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
                 : "r"(from));
  }
};

class MainLoop {
 public:
  __device__ __forceinline__ MainLoop(const GemmArgs& args, const Work& work, const ThreadPlace& place, unsigned stages)
      : args_(args), work_(work), writer_(args, work), stages_(stages) {
    const int k = place.slice * kStepK;
    a_ = stages + (k * kStrideA + place.m0) * kElement;
    b_ = stages + (kElementsOfA + k * kStrideB + place.n0) * kElement;
  }

  __device__ __forceinline__ void accumulate(Sums& sums) {
    const int steps = work_.steps(), part = max(0, Writer::whole_steps(args_, work_) - Writer::kAhead);
#pragma unroll
    for (int step = 0; step < Writer::kAhead; ++step) {
      if (step < steps) writer_.copy<false, 0, Writer::kCopies>(args_, work_, step, stages_ + step * kStageBytes);
      writer_.next_step(args_);
      async_commit();
    }
    write_ = (kStages - 1) * kStageBytes;
    wait_for_step();
    fragments_[0].load(a_, b_, 0);
    // In the first part every copy that is started is one of a whole step.
#pragma unroll 1
    for (int step = 0; step < part; ++step) one_k<true, 0>(sums, step);
#pragma unroll 1
    for (int step = part; step < steps; ++step) one_k<false, 0>(sums, step);
  }

 private:
  __device__ __forceinline__ void wait_for_step() {
    async_wait<kStages - 2>();
    __syncthreads();
  }

  static __device__ __forceinline__ int after(int stage) {
    return stage == (kStages - 1) * kStageBytes ? 0 : stage + kStageBytes;
  }

  // fragments_[0] holds the step's first rows, and in the end those of the next step; after the last one what is loaded
  // is not used, which is cheaper than a branch.
  template <bool Whole, int K>
  __device__ __forceinline__ void one_k(Sums& sums, int step) {
    Fragment& next = fragments_[(K + 1) % 2];
    if constexpr (K == kStepK - 1) {
      read_ = after(read_);
      write_ = after(write_);
      wait_for_step();
      next.load(a_ + read_, b_ + read_, 0);
    } else {
      next.load(a_ + read_, b_ + read_, K + 1);
      if constexpr (K % kApart == 0 && K / kApart < kGroups) copy_group<Whole, K / kApart>(step);
    }
    fragments_[K % 2].multiply(sums);
    if constexpr (K + 1 < kStepK) one_k<Whole, K + 1>(sums, step);
  }

  const GemmArgs& args_;
  const Work& work_;
  // A step's copies are started in groups, the last of them before the last k, whose loads wait for copies. The
  // compiler puts three empty instructions before the first copy of a group.
  static constexpr int kFewest = (Writer::kCopies + kCopiesAtOnce - 1) / kCopiesAtOnce;
  static constexpr int kGroups = kFewest < kStepK - 1 ? kFewest : kStepK - 1;
  static constexpr int kApart = (kStepK - 1) / kGroups;  // k from group to group

  template <bool Whole, int Group>
  __device__ __forceinline__ void copy_group(int step) {
    constexpr int kFirst = Group * Writer::kCopies / kGroups, kLast = (Group + 1) * Writer::kCopies / kGroups;
    writer_.copy<Whole, kFirst, kLast>(args_, work_, step + Writer::kAhead, stages_ + write_);
    if constexpr (Group == kGroups - 1) {
      writer_.next_step(args_);
      async_commit();
    }
  }

  Writer writer_;
  unsigned stages_;
  unsigned a_, b_;  // this thread's first elements in the first stage
  int read_ = 0;    // the stage that is multiplied, and
  int write_ = 0;   // the one that is filled: where they begin, bytes
  Fragment fragments_[2];
};

}  // namespace tilesmith
