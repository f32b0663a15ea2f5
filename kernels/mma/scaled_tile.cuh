// The main loop of the family `mma` with scales of blocks of K (kernels/shared/multiply/block_scales.cuh). A step lies
// in one block of K.
//
//   part   the products of a step                    tensor cores, from zero
//   sums   += part · scale of A · scale of B         CUDA cores, in f32
//
// With a step's operands all threads copy a scale for each row and column of the block's tile, to a ring behind all
// else in shared memory. It has a place more than there are stages: a warp still reads a step's scales when others have
// begun the next step.
#pragma once

#include "kernels/mma/scaled_part.cuh"
// It names products that scaled_part.cuh takes out.
#include "kernels/mma/main_loop.cuh"
#include "kernels/shared/multiply/block_scales.cuh"

namespace tilesmith {

static_assert(!kTma && !kPersistent && kFragBuffers == 2, "a block has one tile, and all its threads copy");
static_assert(!kSwap && !kIsSparse && !kIsGated);
static_assert(kScaleBlock % kBlockK == 0, "a step lies in one block of K");

constexpr int kScalesOfStep = kBlockM + kBlockN, kScaleSteps = kStages + 1;

// The ring of scales: at one end copies, step by step, at the other what a warp needs of a step.
class ScaleRing {
 public:
  // `shared`: kScaleSteps · kScalesOfStep floats.
  __device__ __forceinline__ ScaleRing(const GemmArgs& all, const Work& work, float* shared)
      : of_a_(all.scale_m, all.m, all.k, all.stride_a == 0 ? 0 : int(work.entry)),
        of_b_(all.scale_n, all.n, all.k, all.stride_b == 0 ? 0 : int(work.entry)),
        begin_(shared), to_(shared), from_(shared), m0_(work.m0), n0_(work.n0), k_(work.k0), end_(work.k) {}

  // Starts the copies of the next step, if there is one. The writer commits them with the step's operands.
  __device__ __forceinline__ void copy_step() {
    if (k_ >= end_) return;
#pragma unroll
    for (int first = 0; first < kScalesOfStep; first += kMultiplyingThreads) {
      const int at = first + int(threadIdx.x);
      if (kScalesOfStep % kMultiplyingThreads != 0 && at >= kScalesOfStep) break;
      const float* from = at < kBlockM ? address(of_a_, m0_ + at) : address(of_b_, n0_ + at - kBlockM);
      async_copy_whole<4>(to_ + at, from, true);
    }
    k_ += kNextStep;
    to_ = next(to_);
  }

  __device__ __forceinline__ const float* step() const { return from_; }  // of rows, then of columns
  __device__ __forceinline__ void step_read() { from_ = next(from_); }

 private:
  template <int Kind>
  __device__ __forceinline__ const float* address(const BlockScales<Kind>& scales, int row) const {
    const int inside = min(row, scales.extent - 1), block = k_ / kScaleBlock;
    return scales.first + (Kind == kScaledEach ? static_cast<long long>(block) * scales.extent + inside
                                               : static_cast<long long>(inside / kScaleBlock) * scales.blocks + block);
  }
  __device__ __forceinline__ float* next(float* step) const {
    return step == begin_ + (kScaleSteps - 1) * kScalesOfStep ? begin_ : step + kScalesOfStep;
  }

  BlockScales<kBlockScaleM> of_a_;
  BlockScales<kBlockScaleN> of_b_;
  float *begin_, *to_, *from_;
  int m0_, n0_, k_, end_;
};

// Where a thread finds the scale of its column e (0 or 1) of the warp's j-th 8. If a block of columns has one, it is that
// of a column of its own. Warps of 48 columns begin anywhere in a block.
__device__ __forceinline__ int scaled_column(int j, int e, int t) {
  constexpr int kColumns = kScaleBlock % kWarpN == 0 ? kWarpN : 16;
  if constexpr (kBlockScaleN == kScaledBlocks) return 8 * j / kColumns * kColumns + 2 * t;
  if constexpr (kDealt<RightTile> == Dealt::pairs) return column_in_warp<Dealt::pairs>(j / 2 * 2, t) + j % 2 + 2 * e;
  return column_in_warp<kDealt<RightTile>>(j, t) + e;
}

// As MainLoop, of one work item.
class ScaledLoop {
 public:
  __device__ __forceinline__ ScaledLoop(const GemmArgs& args, const WorkList& list, const Work& work,
                                        const WarpPlace& warp, unsigned char* shared, float* scales)
      : args_(args), list_(list), warp_(warp), writer_(args, list, reinterpret_cast<Operand*>(shared), nullptr),
        reader_(reinterpret_cast<Operand*>(shared), warp, Skews(args, list)), scales_(args, work, scales) {
#pragma unroll
    for (int step = 0; step < Writer::kAhead; ++step) copy_ahead<false>();
    writer_.wait_for_step();
    slabs_[0].load(reader_, 0);
  }

  __device__ __forceinline__ void accumulate(WarpTile& tile, const Work& work) {
    const int steps = work.steps();
    const int whole = max(0, Writer::whole_steps(args_, work) - Writer::kAhead);
    for (int step = 0; step < whole; ++step) one_step<true>(tile);
    writer_.whole_steps_done(whole);
    for (int step = whole; step < steps; ++step) one_step<false>(tile);
  }

  // Before the memory of stages is used for anything else.
  __device__ __forceinline__ void drain() {
    writer_.wait_for_all_steps();
    sync_threads();
  }

 private:
  template <bool Whole>
  __device__ __forceinline__ void copy_ahead() {
    scales_.copy_step();
    if constexpr (Whole) {
      writer_.whole_step();
    } else {
      writer_.any_step(args_, list_);
    }
  }

  // As MainLoop::load_ahead(), from zero.
  template <bool Whole>
  __device__ __forceinline__ void one_step(WarpTile& tile) {
    Part part[kLeftCount][2 * kRightCount];
#pragma unroll
    for (int slab = 0; slab < kSlabs; ++slab) {
      const Slab& now = slabs_[slab % 2];
      Slab& next = slabs_[(slab + 1) % 2];
      const int next_slab = (slab + 1) % kSlabs;
      if (next_slab == 0) {
        writer_.wait_for_step();
        reader_.next_stage();
      }
#pragma unroll
      for (int i = 0; i < kLeftCount; ++i) {
        reader_.load_left(next.left[i], i, next_slab);
#pragma unroll
        for (int j = i * kRightCount / kLeftCount; j < (i + 1) * kRightCount / kLeftCount; ++j) {
          reader_.load_right(next.right[j], j, next_slab);
        }
        if (slab == 0 && i == 0) copy_ahead<Whole>();
#pragma unroll
        for (int step = 0; step < 2 * kRightCount; ++step) {
          const int j = i % 2 == 0 ? step : 2 * kRightCount - 1 - step;
          multiply(part[i][j], now.left[i], now.right[j / 2], j % 2);
        }
      }
    }
    add(tile, part);
    scales_.step_read();
  }

  // sums += part · scales.
  __device__ __forceinline__ void add(WarpTile& tile, const Part (&part)[kLeftCount][2 * kRightCount]) const {
    const float *rows = scales_.step() + warp_.m0, *columns = scales_.step() + kBlockM + warp_.n0;
    const int g = int(threadIdx.x % 32 / 4), t = int(threadIdx.x % 4);
#pragma unroll
    for (int i = 0; i < kLeftCount; ++i) {
#pragma unroll
      for (int j = 0; j < 2 * kRightCount; ++j) {
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          const float row = rows[row_in_warp<kDealt<LeftTile>>(i, c / 2, g)], column = columns[scaled_column(j, c % 2, t)];
          const float value = part[i][j].value(c);
          tile.sums[i][j].c[c] += kBlockScaleN == kScaledBlocks ? value * (row * column) : value * row * column;
        }
      }
    }
  }

  const GemmArgs& args_;
  const WorkList& list_;
  const WarpPlace& warp_;
  Writer writer_;
  Reader reader_;
  ScaleRing scales_;
  Slab slabs_[2];
};

}  // namespace tilesmith
