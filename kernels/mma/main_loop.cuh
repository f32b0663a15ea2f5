// The main loop of the family `mma`: a stream of K-steps that runs on from one work item into the next.
//
//   copy      s0 s1 s2 | s3   s4   s5   n0   n1   n2        kStages = 4; n: steps of the block's next work item
//   multiply           | s0   s1   s2   s3   s4   s5  C  n0   one barrier a step; C: the epilogue, while n0..n2 land
//
// Within a step a warp multiplies slab by slab. With kFragBuffers = 2 the fragments of the next slab are loaded between
// the products of the current one, over the barrier too. With kSliceK = 2 two warps share a tile and take every other
// slab.
#pragma once

#include "kernels/mma/fragments.cuh"
#include "kernels/mma/step_writer.cuh"

namespace tilesmith {

constexpr int kSlabs = kBlockK / kSlabK / kRightLoads / kSliceK;  // of a warp in a step

static_assert(kBlockK % (kSlabK * kRightLoads * kSliceK) == 0, "a K-step must split into whole slabs for every warp");
static_assert(!kIsSparse || (kSliceK == 1 && kBlockK % metadata_block_k(kElementBytes) == 0),
              "a K-step must have whole blocks of metadata, and a slab's number must be known for the instruction");
static_assert(kFragBuffers == 1 || kSlabs % 2 == 0,
              "the two buffers must change places a whole number of times a step");

// Swizzled tiles start at whole chunks.
struct NoSkews {
  NoSkew a, b;

  template <typename WorkList>
  __device__ __forceinline__ NoSkews(const KernelArgs&, const WorkList&) {}
};
using Skews = Either<kSkewed, RowSkews, NoSkews>;

template <Side kSide, typename Tile, int Count>
using Loader = Either<kSkewed, SkewedLoader<kSide, Tile, Count>, FragmentLoader<kSide, Tile, Count>>;

// The stream's reading end: a warp's fragments, step by step.
class Reader {
 public:
  __device__ __forceinline__ Reader(const Operand* shared, const WarpPlace& warp, const Skews& skews)
      : left_(kSwap ? warp.n0 : warp.m0, kSwap ? skews.b : skews.a),
        right_(kSwap ? warp.m0 : warp.n0, kSwap ? skews.a : skews.b),
        begin_(shared_address(shared)),
        stage_(begin_),
        slice_(warp.slice) {
    if constexpr (kIsSparse) {
      const int row_block = (kSwap ? warp.n0 : warp.m0) / kMetadataRows;
      metadata_ = unsigned(kMetadataAt + (row_block * kMetadataWords + int(threadIdx.x % 32)) * 4);
    }
  }

  __device__ __forceinline__ void next_stage() {
    stage_ = stage_ == begin_ + (kStages - 1) * kStageBytes ? begin_ : stage_ + kStageBytes;
  }
  __device__ __forceinline__ void load_left(Rows16& to, int i, int slab) const {
    left_.load(to, stage_ + (kSwap ? kBytesOfA : 0), i, slab_of_step(slab));
  }
  __device__ __forceinline__ void load_right(Rows16 (&to)[kRightLoads], int j, int slab) const {
#pragma unroll
    for (int half = 0; half < kRightLoads; ++half) {
      right_.load(to[half], stage_ + (kSwap ? 0 : kBytesOfA), j, kRightLoads * slab_of_step(slab) + half);
    }
  }
  // The i-th 16 rows of a sparse left operand.
  __device__ __forceinline__ unsigned metadata(int i, int slab) const {
    unsigned word;
    const int block = slab / kSlabsOfWord * kMetadataRowBlocks + i;
    load_one(word, stage_ + metadata_ + unsigned(block * (kMetadataWords * 4)));
    return word;
  }

 private:
  static constexpr int kBytesOfA = kElementsOfA * kElementBytes;

  __device__ __forceinline__ int slab_of_step(int slab) const { return kSliceK == 1 ? slab : slab * kSliceK + slice_; }

  Loader<Side::left, LeftTile, kLeftCount> left_;
  Loader<Side::right, RightTile, kRightCount> right_;
  unsigned begin_, stage_, metadata_;
  int slice_;
};

struct Slab {
  Rows16 left[kLeftCount];
  Rows16 right[kRightCount][kRightLoads];
  unsigned metadata[kLeftCount];  // of a sparse left operand

  __device__ __forceinline__ void load(const Reader& reader, int slab) {
#pragma unroll
    for (int i = 0; i < kLeftCount; ++i) {
      reader.load_left(left[i], i, slab);
      if constexpr (kIsSparse) metadata[i] = reader.metadata(i, slab);
    }
#pragma unroll
    for (int j = 0; j < kRightCount; ++j) reader.load_right(right[j], j, slab);
  }
};

class MainLoop {
 public:
  __device__ __forceinline__ MainLoop(const KernelArgs& args, const WorkList& list, const WarpPlace& warp,
                                      Operand* shared, const void* barriers)
      : args_(args), list_(list), writer_(args, list, shared, barriers), reader_(shared, warp, Skews(args, list)) {
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
    static_assert(!kThreeProducts || kFragBuffers == 2, "operands are split as a slab's products begin");
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
      for (int i = 0; i < kLeftCount; ++i) {
        reader_.load_left(now.left[i], i, slab);
        if (kIsSparse && slab % kSlabsOfWord == 0) now.metadata[i] = reader_.metadata(i, slab);
      }
#pragma unroll
      for (int j = 0; j < kRightCount; ++j) {
        reader_.load_right(now.right[j], j, slab);
        if (slab == 0 && j == 0) copy_ahead<Whole>();
        tile.multiply_column(j, now.left, now.right[j], now.metadata, slab);
      }
    }
    writer_.step_read();
    reader_.next_stage();
  }

  // slabs_[0] holds the step's first slab, and in the end that of the stream's next step. After the last step it is
  // loaded in vain, which is cheaper than a branch.
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
      SplitRows<Rows16> split[kRightCount];
      if constexpr (kThreeProducts) {
#pragma unroll
        for (int j = 0; j < kRightCount; ++j) split[j].set(now.right[j][0]);
      }
#pragma unroll
      for (int i = 0; i < kLeftCount; ++i) {
        reader_.load_left(next.left[i], i, next_slab);
        if constexpr (kIsSparse) {
          next.metadata[i] = next_slab % kSlabsOfWord == 0 ? reader_.metadata(i, next_slab) : now.metadata[i];
        }
#pragma unroll
        for (int j = i * kRightCount / kLeftCount; j < (i + 1) * kRightCount / kLeftCount; ++j) {
          reader_.load_right(next.right[j], j, next_slab);
        }
        if (slab == 0 && i == 0) copy_ahead<Whole>();
        if constexpr (kThreeProducts) {
          SplitRows<Rows16> left;
          left.set(now.left[i]);
          tile.multiply_split_row(i, left, split);
        } else {
          tile.multiply_row(i, now.left[i], now.right, now.metadata[i], slab);
        }
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
