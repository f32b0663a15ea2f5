// The block's copies of a K-step where an operand is 2:4 sparse: half as many of its elements along K, and their metadata behind both tiles.
#pragma once

#include "kernels/mma/sparse_instruction.cuh"

namespace tilesmith {

// Copies of 16 bytes of metadata, 8 to a block of 16 rows × 16 groups; a thread's are as many apart as there are threads.
class MetadataCopy {
  static constexpr int kRowBlocks = kLeftExtent / kMetadataRows;  // of a tile
  static constexpr int kChunks = kMetadataBytes / 16;
  static constexpr int kChunksOfRow = kRowBlocks * 8;

 public:
  __device__ __forceinline__ MetadataCopy(const SparseArgs& args, int left0, int k0)
      : metadata_(static_cast<const unsigned char*>(args.metadata)),
        row_blocks_(args.row_blocks),
        k_blocks_(args.k_blocks),
        row_block_(left0 / kMetadataRows),
        k_block_(k0 / metadata_block_k(kElementBytes)) {}

  // Behind the last of M or N, and of K, there is none, and elements are zeros: any will do.
  __device__ __forceinline__ void step(unsigned char* to) {
#pragma unroll
    for (int first = 0; first < kChunks; first += kMultiplyingThreads) {
      const int chunk = first + int(threadIdx.x);
      if (kChunks % kMultiplyingThreads != 0 && chunk >= kChunks) break;
      const int k_block = min(k_block_ + chunk / kChunksOfRow, k_blocks_ - 1), row_block = min(row_block_ + chunk % kChunksOfRow / 8, row_blocks_ - 1);
      const long long from = ((long long)k_block * row_blocks_ + row_block) * (kMetadataWords * 4) + chunk % 8 * 16;
      async_copy_whole<16>(to + chunk * 16, metadata_ + from, true);
    }
    k_block_ += kNextStep / metadata_block_k(kElementBytes);
  }

 private:
  const unsigned char* metadata_;
  int row_blocks_, k_blocks_;
  int row_block_, k_block_;  // the step's first
};

struct StepCopy {
  static constexpr int kShareA = kSparseB ? 1 : 2, kShareB = kSparseB ? 2 : 1;  // elements of K for each that is stored

  StepCopyOf<Operand, TileA, kCopyBytes, kMultiplyingThreads, kAsync, !kAKMajor, kNextStep / kShareA> a;
  StepCopyOf<Operand, TileB, kCopyBytes, kMultiplyingThreads, kAsync, !kBKMajor, kNextStep / kShareB> b;
  MetadataCopy metadata;

  __device__ __forceinline__ StepCopy(const GemmArgs& args, const Work& work)
      : a(static_cast<const Operand*>(args.a), args.lda, kAKMajor ? work.m0 : work.k0, kAKMajor ? work.k0 / kShareA : work.m0,
          kAKMajor ? args.m : work.k, kAKMajor ? work.k / kShareA : args.m),
        b(static_cast<const Operand*>(args.b), args.ldb, kBKMajor ? work.n0 : work.k0, kBKMajor ? work.k0 / kShareB : work.n0,
          kBKMajor ? args.n : work.k, kBKMajor ? work.k / kShareB : args.n),
        metadata(sparse_of(args), kSwap ? work.n0 : work.m0, work.k0) {}

  // How many steps, from the first on, can be copied as next<true>.
  static __device__ __forceinline__ int whole_steps(const GemmArgs& args, const Work& work) {
    const bool whole = decltype(a)::splits_whole(work.m0, args.m) && decltype(b)::splits_whole(work.n0, args.n);
    return whole && work.k - work.k0 >= kBlockK ? (work.k - work.k0 - kBlockK) / kNextStep + 1 : 0;
  }

  template <bool Whole>
  __device__ __forceinline__ void next(Operand* stage) {
    a.template step<Whole>(stage);
    b.template step<Whole>(stage + kElementsOfA);
    metadata.step(reinterpret_cast<unsigned char*>(stage) + kMetadataAt);
  }
};

}  // namespace tilesmith
