// The main loop of the family `mma`: a stream of K-steps that runs on from one work item into the next.
//
//   copy      s0 s1 s2 | s3   s4   s5   n0   n1   n2        kStages = 4; n: steps of the block's next work item
//   multiply           | s0   s1   s2   s3   s4   s5  C  n0   one barrier a step; C: the epilogue, while n0..n2 land
//
// Within a step a warp multiplies slab by slab. With kFragBuffers = 2 the fragments of the next slab are loaded between the
// products of the current one, over the barrier too. With kSliceK = 2 two warps share a tile and take every other slab.
#pragma once

#include "kernels/mma/fragments.cuh"
#include "kernels/mma/tensor_copy.cuh"
#include "kernels/mma/work.cuh"

namespace tilesmith {

constexpr int kWarpsM = kBlockM / kWarpM;
constexpr int kWarpsN = kBlockN / kWarpN;
constexpr int kWarpsOfSlice = kWarpsM * kWarpsN;
constexpr int kThreads = kWarpsOfSlice * kSliceK * 32;
constexpr bool kAsync = kCopyBytes >= 4;
constexpr int kLeftCount = kWarpM / 16;
constexpr int kRightCount = kWarpN / 16;
constexpr int kSlabs = kBlockK / kSlabK / kSliceK;  // of a warp in a step

static_assert(kBlockM % kWarpM == 0 && kBlockN % kWarpN == 0, "a block's tile must split into whole tiles of warps");
static_assert(kWarpM % 16 == 0 && kWarpN % 16 == 0, "a warp's tile must split into 16 rows and 16 columns");
static_assert(kBlockK % (kSlabK * kSliceK) == 0, "a K-step must split into whole slabs for every warp");
static_assert(kFragBuffers == 1 || kSlabs % 2 == 0, "the two buffers must change places a whole number of times a step");
static_assert(kStages >= 2, "one stage is read while another is written");

struct WarpPlace {
  int slice, m0, n0;  // which share of the slabs; the warp's first row and column within the block's tile

  __device__ __forceinline__ WarpPlace() {
    const int warp = int(threadIdx.x / 32);
    slice = kSliceK == 1 ? 0 : warp / kWarpsOfSlice;
    m0 = warp % kWarpsOfSlice / kWarpsN * kWarpM;
    n0 = warp % kWarpsN * kWarpN;
  }
};

struct WarpTile {
  Sums sums[kLeftCount][2 * kRightCount];  // [16 rows][8 columns]

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (auto& row : sums) {
#pragma unroll
      for (Sums& one : row) tilesmith::clear(one);
    }
  }

  // Forth and back, so that a product's right operand is often its neighbour's.
  __device__ __forceinline__ void multiply_row(int i, const Rows16& left, const Rows16 (&right)[kRightCount]) {
#pragma unroll
    for (int step = 0; step < 2 * kRightCount; ++step) {
      const int j = i % 2 == 0 ? step : 2 * kRightCount - 1 - step;
      multiply(sums[i][j], left, right[j / 2], j % 2);
    }
  }

  // 16 columns at a time: where fragments are loaded as they are used, fewer registers hold them.
  __device__ __forceinline__ void multiply_column(int j, const Rows16 (&left)[kLeftCount], const Rows16& right) {
#pragma unroll
    for (int step = 0; step < 2 * kLeftCount; ++step) {
      const int i = j % 2 == 0 ? step / 2 : kLeftCount - 1 - step / 2, half = step % 2;
      multiply(sums[i][2 * j + half], left[i], right, half);
    }
  }
};

// The block's copies of both operands, one K-step after the other.
struct StepCopy {
  StepCopyOf<Operand, LeftTile, kCopyBytes, kThreads, kAsync, !kLeftKMajor> left;
  StepCopyOf<Operand, RightTile, kCopyBytes, kThreads, kAsync, !kRightKMajor> right;

  __device__ __forceinline__ StepCopy(const GemmArgs& args, const Work& work)
      : left(static_cast<const Operand*>(args.a), args.lda, kLeftKMajor ? work.m0 : work.k0,
             kLeftKMajor ? work.k0 : work.m0, kLeftKMajor ? args.m : work.k_end, kLeftKMajor ? work.k_end : args.m),
        right(static_cast<const Operand*>(args.b), args.ldb, kRightKMajor ? work.n0 : work.k0,
              kRightKMajor ? work.k0 : work.n0, kRightKMajor ? args.n : work.k_end, kRightKMajor ? work.k_end : args.n) {}

  // How many steps, from the first on, can be copied as next<true>.
  static __device__ __forceinline__ int whole_steps(const GemmArgs& args, const Work& work) {
    const bool whole = decltype(left)::splits_whole(work.m0, args.m) && decltype(right)::splits_whole(work.n0, args.n);
    return whole ? (work.k_end - work.k0) / kBlockK : 0;
  }

  template <bool Whole>
  __device__ __forceinline__ void next(Operand* stage) {
    left.template step<Whole>(stage);
    right.template step<Whole>(stage + kLeftElements);
  }
};

// What a kernel is launched with.
template <bool Tma> struct KernelArgsOf { using type = GemmArgs; };
template <> struct KernelArgsOf<true> { using type = TensorGemmArgs; };
using KernelArgs = KernelArgsOf<kTma != 0>::type;
__device__ __forceinline__ const GemmArgs& gemm_args(const GemmArgs& args) { return args; }
__device__ __forceinline__ const GemmArgs& gemm_args(const TensorGemmArgs& args) { return args.gemm; }

// The stream's writing end: which step of which work item is copied next, and where to. All threads copy.
class ThreadsWriter {
 public:
  static constexpr int kAhead = kStages - 1;  // steps between a step's copy and its use

  __device__ __forceinline__ ThreadsWriter(const GemmArgs& args, const WorkList& list, Operand* shared, const void*)
      : copy_(args, list.at(blockIdx.x)), begin_(shared), stage_(shared), item_(blockIdx.x) {
    steps_left_ = list.at(item_).steps();
  }

  // How many steps of an item, from the first on, can be copied as whole ones.
  static __device__ __forceinline__ int whole_steps(const GemmArgs& args, const Work& work) {
    return StepCopy::whole_steps(args, work);
  }

  // Starts the copy of the stream's next step, if there is one; the group is committed also when it is empty, because the
  // wait counts groups.
  __device__ __forceinline__ void any_step(const GemmArgs& args, const WorkList& list) {
    if (steps_left_ == 0 && kPersistent) next_item(args, list);
    if (steps_left_ > 0) {
      --steps_left_;
      copy_.next<false>(stage_);
    }
    finish();
  }

  // The same where the caller knows that the item has a next step and that it is a whole one.
  __device__ __forceinline__ void whole_step() {
    copy_.next<true>(stage_);
    finish();
  }
  __device__ __forceinline__ void whole_steps_done(int steps) { steps_left_ -= steps; }

  // Waits until the oldest step in flight has landed; the stage read before it may be written from here on.
  __device__ __forceinline__ void wait_for_step() const {
    if constexpr (kAsync) async_wait<kStages - 2>();
    __syncthreads();
  }
  // The warp reads no more of the step waited for last.
  __device__ __forceinline__ void step_read() const {}
  __device__ __forceinline__ void wait_for_all_steps() const {
    if constexpr (kAsync) async_wait<0>();
  }

 private:
  __device__ __forceinline__ void next_item(const GemmArgs& args, const WorkList& list) {
    while (steps_left_ == 0 && item_ + gridDim.x < list.count()) {
      item_ += gridDim.x;
      const Work work = list.at(item_);
      copy_ = StepCopy(args, work);
      steps_left_ = work.steps();
    }
  }
  __device__ __forceinline__ void finish() {
    if constexpr (kAsync) async_commit();
    stage_ = stage_ == begin_ + (kStages - 1) * kStageElements ? begin_ : stage_ + kStageElements;
  }

  StepCopy copy_;
  Operand* begin_;
  Operand* stage_;
  unsigned item_;
  int steps_left_;
};

// The same by the tensor memory accelerator: one thread starts the copies, and the hardware sees to the edges.
class TensorWriter {
 public:
  static constexpr int kAhead = TensorRing::kAhead;

  __device__ __forceinline__ TensorWriter(const TensorGemmArgs& args, const WorkList& list, Operand* shared, const void* barriers)
      : ring_(args, shared, barriers, kThreads / 32), work_(list.at(blockIdx.x)), k_(work_.k0), item_(blockIdx.x) {}

  static __device__ __forceinline__ int whole_steps(const TensorGemmArgs&, const Work&) { return 0; }
  __device__ __forceinline__ void whole_step() {}
  __device__ __forceinline__ void whole_steps_done(int) {}

  __device__ __forceinline__ void any_step(const TensorGemmArgs&, const WorkList& list) {
    while (kPersistent && k_ >= work_.k_end && item_ + gridDim.x < list.count()) {
      item_ += gridDim.x;
      work_ = list.at(item_);
      k_ = work_.k0;
    }
    if (k_ >= work_.k_end) return;
    ring_.fill(work_, k_);
    k_ += kBlockK;
  }

  __device__ __forceinline__ void wait_for_step() { ring_.wait_for_step(); }
  __device__ __forceinline__ void step_read() { ring_.release(); }
  __device__ __forceinline__ void wait_for_all_steps() const {}  // every step that was copied has been waited for

 private:
  TensorRing ring_;
  Work work_;
  int k_;
  unsigned item_;
};

template <bool Tma> struct WriterOf { using type = ThreadsWriter; };
template <> struct WriterOf<true> { using type = TensorWriter; };
using Writer = WriterOf<kTma != 0>::type;

// The stream's reading end: a warp's fragments, step by step.
class Reader {
 public:
  __device__ __forceinline__ Reader(const Operand* shared, const WarpPlace& warp)
      : left_(warp.m0), right_(warp.n0), begin_(shared_address(shared)), stage_(begin_), slice_(warp.slice) {}

  __device__ __forceinline__ void next_stage() {
    stage_ = stage_ == begin_ + (kStages - 1) * kStageBytes ? begin_ : stage_ + kStageBytes;
  }
  __device__ __forceinline__ void load_left(Rows16& to, int i, int slab) const {
    left_.load(to, stage_, i, slab_of_step(slab));
  }
  __device__ __forceinline__ void load_right(Rows16& to, int j, int slab) const {
    right_.load(to, stage_ + kLeftElements * int(sizeof(Operand)), j, slab_of_step(slab));
  }

 private:
  __device__ __forceinline__ int slab_of_step(int slab) const { return kSliceK == 1 ? slab : slab * kSliceK + slice_; }

  FragmentLoader<Side::left, LeftTile, kLeftKMajor, kLeftCount> left_;
  FragmentLoader<Side::right, RightTile, kRightKMajor, kRightCount> right_;
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
  __device__ __forceinline__ MainLoop(const KernelArgs& args, const WorkList& list, const WarpPlace& warp, Operand* shared,
                                      const void* barriers)
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
    __syncthreads();
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
    if constexpr (kFragBuffers == 1) {
      load_then_multiply<Whole>(tile);
    } else {
      load_ahead<Whole>(tile);
    }
  }

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
        if (slab == kSlabs - 1 && j == kRightCount - 1) writer_.step_read();
        tile.multiply_column(j, now.left, now.right[j]);
      }
    }
    reader_.next_stage();
  }

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
        writer_.step_read();
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
        tile.multiply_row(i, now.left[i], now.right);
      }
    }
  }

  const KernelArgs& args_;
  const WorkList& list_;
  Writer writer_;
  Reader reader_;
  Slab slabs_[kFragBuffers];
};

}  // namespace tilesmith
