// The main loop of the family `mma`: a stream of K-steps that runs on from one work item into the next.
//
//   copy      s0 s1 s2 | s3   s4   s5   n0   n1   n2        kStages = 4; n: steps of the block's next work item
//   multiply           | s0   s1   s2   s3   s4   s5  C  n0   one barrier a step; C: the epilogue, while n0..n2 land
//
// Within a step a warp multiplies slab by slab. With kFragBuffers = 2 the fragments of the next slab are loaded between
// the products of the current one, over the barrier too. With kSliceK = 2 two warps share a tile and take every other
// slab.
#pragma once

#ifdef TILESMITH_SPARSE
#include "kernels/mma/sparse_loop.cuh"
#else
#include "kernels/mma/fragments.cuh"
#include "kernels/mma/step_writer.cuh"

namespace tilesmith {

constexpr int kSlabs = kBlockK / kSlabK / kSliceK;  // of a warp in a step

static_assert(kBlockK % (kSlabK * kSliceK) == 0, "a K-step must split into whole slabs for every warp");
static_assert(kFragBuffers == 1 || kSlabs % 2 == 0,
              "the two buffers must change places a whole number of times a step");

// The stream's reading end: a warp's fragments, step by step.
class Reader {
 public:
  __device__ __forceinline__ Reader(const Operand* shared, const WarpPlace& warp)
      : left_(kSwap ? warp.n0 : warp.m0),
        right_(kSwap ? warp.m0 : warp.n0),
        begin_(shared_address(shared)),
        stage_(begin_),
        slice_(warp.slice) {}

  __device__ __forceinline__ void next_stage() {
    stage_ = stage_ == begin_ + (kStages - 1) * kStageBytes ? begin_ : stage_ + kStageBytes;
  }
  __device__ __forceinline__ void load_left(Rows16& to, int i, int slab) const {
    left_.load(to, stage_ + (kSwap ? kBytesOfA : 0), i, slab_of_step(slab));
  }
  __device__ __forceinline__ void load_right(Rows16& to, int j, int slab) const {
    right_.load(to, stage_ + (kSwap ? 0 : kBytesOfA), j, slab_of_step(slab));
  }

 private:
  static constexpr int kBytesOfA = kElementsOfA * int(sizeof(Operand));

  __device__ __forceinline__ int slab_of_step(int slab) const { return kSliceK == 1 ? slab : slab * kSliceK + slice_; }

  FragmentLoader<Side::left, LeftTile, kLeftCount> left_;
  FragmentLoader<Side::right, RightTile, kRightCount> right_;
  unsigned begin_, stage_;
  int slice_;
};

struct Slab {
  Rows16 left[kLeftCount];
  Rows16 right[kRightCount];

  __device__ __forceinline__ void load(const Reader& reader, int slab) {
#pragma unroll
    for (int i = 0; i < kLeftCount; ++i) reader.load_left(left[i], i, slab);
#pragma unroll
    for (int j = 0; j < kRightCount; ++j) reader.load_right(right[j], j, slab);
  }
};

class MainLoop {
 public:
  __device__ __forceinline__ MainLoop(const KernelArgs& args, const WorkList& list, const WarpPlace& warp,
                                      Operand* shared, const void* barriers)
      : args_(args), list_(list), writer_(args, list, shared, barriers), reader_(shared, warp) {
#pragma unroll
    for (int step = 0; step < Writer::kAhead; ++step) writer_.any_step(args_, list_);
    if constexpr (kFragBuffers == 2) {
      writer_.wait_for_step();
      slabs_[0].load(reader_, 0);
    }
  }

  __device__ __forceinline__ void accumulate(WarpTile& tile, const Work& work) {
    // In the first part every copy that is started is one of a whole step of this same item.
    const int steps = work.steps();
    const int part = max(0, Writer::whole_steps(args_, work) - Writer::kAhead);
    for (int step = 0; step < part; ++step) one_step<true>(tile);
    writer_.whole_steps_done(part);
    for (int step = part; step < steps; ++step) one_step<false>(tile);
  }

  // Before the stages' memory is used for anything else.
  __device__ __forceinline__ void drain() {
    writer_.wait_for_all_steps();
    sync_threads();
  }

 private:
  template <bool Whole>
  __device__ __forceinline__ void copy_ahead() {
    if constexpr (Whole) {
      writer_.whole_step();
    } else {
      writer_.any_step(args_, list_);
    }
  }

  template <bool Whole>
  __device__ __forceinline__ void one_step(WarpTile& tile) {
#ifdef TILESMITH_THREE_PRODUCTS
    static_assert(kFragBuffers == 2, "operands are split as a slab's products begin");
    load_ahead<Whole>(tile);
#else
    if constexpr (kFragBuffers == 1) {
      load_then_multiply<Whole>(tile);
    } else {
      load_ahead<Whole>(tile);
    }
#endif
  }

#ifndef TILESMITH_THREE_PRODUCTS
  // The copy is started between the first loads and their use, so that its address arithmetic hides their latency.
  template <bool Whole>
  __device__ __forceinline__ void load_then_multiply(WarpTile& tile) {
    writer_.wait_for_step();
    Slab& now = slabs_[0];
#pragma unroll
    for (int slab = 0; slab < kSlabs; ++slab) {
#pragma unroll
      for (int i = 0; i < kLeftCount; ++i) reader_.load_left(now.left[i], i, slab);
#pragma unroll
      for (int j = 0; j < kRightCount; ++j) {
        reader_.load_right(now.right[j], j, slab);
        if (slab == 0 && j == 0) copy_ahead<Whole>();
        tile.multiply_column(j, now.left, now.right[j]);
      }
    }
    writer_.step_read();
    reader_.next_stage();
  }

#endif
  // slabs_[0] holds the step's first slab, and in the end that of the stream's next step: after the last one what is loaded
  // is not used, which is cheaper than a branch.
  template <bool Whole>
  __device__ __forceinline__ void load_ahead(WarpTile& tile) {
#pragma unroll
    for (int slab = 0; slab < kSlabs; ++slab) {
      const Slab& now = slabs_[slab % 2];
      Slab& next = slabs_[(slab + 1) % 2];
      const int next_slab = (slab + 1) % kSlabs;
      if (next_slab == 0) {
        writer_.wait_for_step();
        reader_.next_stage();
      }
#ifdef TILESMITH_THREE_PRODUCTS
      SplitRows16 right[kRightCount];
#pragma unroll
      for (int j = 0; j < kRightCount; ++j) right[j].set(now.right[j]);
#endif
#pragma unroll
      for (int i = 0; i < kLeftCount; ++i) {
        reader_.load_left(next.left[i], i, next_slab);
#pragma unroll
        for (int j = i * kRightCount / kLeftCount; j < (i + 1) * kRightCount / kLeftCount; ++j) {
          reader_.load_right(next.right[j], j, next_slab);
        }
        if (slab == 0 && i == 0) copy_ahead<Whole>();
#ifdef TILESMITH_THREE_PRODUCTS
        SplitRows16 left;
        left.set(now.left[i]);
        tile.multiply_row(i, left, right);
#else
        tile.multiply_row(i, now.left[i], now.right);
#endif
      }
    }
    writer_.step_read();
  }

  const KernelArgs& args_;
  const WorkList& list_;
  Writer writer_;
  Reader reader_;
  Slab slabs_[kFragBuffers];
};

}  // namespace tilesmith
#endif
