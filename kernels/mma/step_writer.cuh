// The writing end of the stream of K-steps (main_loop.cuh): copies by all threads, or by a warp of its own.
#pragma once

#include "kernels/mma/step_copy.cuh"
#include "kernels/mma/tensor_copy.cuh"

namespace tilesmith {

static_assert(kStages >= 2, "one stage is read while another is written");

// What a kernel is launched with.
using KernelArgs = Either<kTma != 0, TensorGemmArgs, GemmArgs>;
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

  // Starts the copy of the stream's next step, if there is one; the group is committed also when it is empty, because
  // the wait counts groups.
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
    async_wait<kStages - 2>();
    __syncthreads();
  }
  // The warp has multiplied all that it read of a step, so that no load of it can be under way.
  __device__ __forceinline__ void step_read() const {}
  __device__ __forceinline__ void wait_for_all_steps() const { async_wait<0>(); }

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
    async_commit();
    stage_ = stage_ == begin_ + (kStages - 1) * kStageElements ? begin_ : stage_ + kStageElements;
  }

  StepCopy copy_;
  Operand* begin_;
  Operand* stage_;
  unsigned item_;
  int steps_left_;
};

// Where the copying warp writes (tensor_copy.cuh): what is left to do is to wait for its steps, and to give them back.
class TensorWriter {
 public:
  static constexpr int kAhead = 0;

  __device__ __forceinline__ TensorWriter(const TensorGemmArgs&, const WorkList& list, Operand* shared,
                                          const void* barriers)
      : reader_(Ring(shared_address(shared), shared_address(barriers))), steps_left_(steps_of_block(list)) {}

  static __device__ __forceinline__ int whole_steps(const TensorGemmArgs&, const Work&) { return 0; }
  __device__ __forceinline__ void whole_step() {}
  __device__ __forceinline__ void whole_steps_done(int) {}
  __device__ __forceinline__ void any_step(const TensorGemmArgs&, const WorkList&) {}

  __device__ __forceinline__ void wait_for_step() {
    if (steps_left_ == 0) return;
    --steps_left_;
    reader_.wait_for_step();
  }
  __device__ __forceinline__ void step_read() {
    __syncwarp();
    reader_.release();
  }
  __device__ __forceinline__ void wait_for_all_steps() const {}  // every step that was copied has been waited for

 private:
  RingReader reader_;
  int steps_left_;  // that were not yet waited for
};

using Writer = Either<kTma != 0, TensorWriter, ThreadsWriter>;

}  // namespace tilesmith
