// The vector in shared memory, a panel at a time, as it lies in memory but without its stride (family `gemv`).
//
// What can be copied in aligned chunks goes by cp.async, started before the matrix's first loads so that it need not
// queue behind them. The rest (a stride, an odd start, the last elements) follows after those loads, element by
// element.
#pragma once

#include "kernels/shared/load/tile_copy.cuh"
#include "kernels/gemv/task.cuh"

namespace tilesmith {

// A panel holds whole batches: what the block multiplies between two rounds of loads.
constexpr int kBatch = kAlong ? kLanes * kUnroll * kVector                // elements of K
                              : kThreads / kLanes * kUnroll;
constexpr int kBatchBytes = kBatch * int(sizeof(Operand));
// Four chunks a thread, or a batch: few rounds for a long K, and little of the shared memory that the L1 is made of.
constexpr int kPanelBytes = kBatchBytes > 64 * kThreads ? kBatchBytes : 64 * kThreads;
constexpr int kPanel = kPanelBytes / int(sizeof(Operand));
static_assert(kPanel % kBatch == 0 && kPanel % kVector == 0, "a panel must hold whole batches and whole chunks");

class PanelCopy {
 public:
  // Elements [first, first + count) of K, `count` rounded up to whole batches; those outside [0, end) become zeros.
  __device__ __forceinline__ PanelCopy(const Task& task, Bits* panel, int first, int count, int end)
      : vector_(task.vector), panel_(panel), stride_(task.stride), first_(first), end_(end) {
    const int batches = (count + kBatch - 1) / kBatch;
    chunks_ = (batches * kBatch + kVector - 1) / kVector;
    wide_ = stride_ == 1 && reinterpret_cast<unsigned long long>(vector_ + first) % 16 == 0;
  }

  __device__ __forceinline__ void start() const {
    if (!wide_) return;
    for (int c = int(threadIdx.x); c < chunks_; c += kThreads) {
      const int at = first_ + c * kVector;
      if (whole(at)) async_copy_whole<16>(panel_ + c * kVector, vector_ + at, true);
    }
  }

  // After this and a __syncthreads() the panel is there.
  __device__ __forceinline__ void finish() const {
    if (wide_) {
      for (int c = int(threadIdx.x); c < chunks_; c += kThreads) {
        const int at = first_ + c * kVector;
        if (whole(at)) continue;
        *reinterpret_cast<Chunk*>(panel_ + c * kVector) = at < end_ ? load_elements(vector_, at, end_) : Chunk{};
      }
    } else {
#pragma unroll 8
      for (int e = int(threadIdx.x); e < chunks_ * kVector; e += kThreads) {
        const int at = first_ + e;
        panel_[e] = at >= 0 && at < end_ ? __ldg(vector_ + at * stride_) : Bits(0);
      }
    }
    async_commit();
    async_wait<0>();
  }

 private:
  __device__ __forceinline__ bool whole(int at) const { return at >= 0 && at + kVector <= end_; }

  const Bits* vector_;
  Bits* panel_;
  long long stride_;
  int first_;
  int end_;
  int chunks_;
  bool wide_;
};

}  // namespace tilesmith
