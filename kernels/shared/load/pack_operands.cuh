// Which kind of copy packs A and which packs B, and where their copies lie in the workspace: all entries' A one behind
// the other, then all B. What all entries of a batch read is packed once.
#pragma once

#include "kernels/shared/work/batch.cuh"
#include "kernels/shared/either.cuh"
#include "kernels/shared/load/k_major_copy.cuh"
#include "kernels/shared/load/sub_byte_copy.cuh"

namespace tilesmith {

// kAsStored: the copy's rows run along the dimension along which the operand's do. Operands below a byte are always
// packed along K.
template <bool kIsB, bool kAsStored, int kCopies>
using PackedCopy = Either<(kOperandBits < 8), Either<kAsStored, SubByteCopy<kIsB>, SubByteTurned<kIsB>>,
    Either<kAsStored, AlignedCopy<Operand, kIsB && kIsGated, kCopies>, KMajorCopy<Operand, kIsB && kIsGated, kCopies>>>;

// Packs A, B or both of an entry into the workspace, each by its kind of copy. The grid has a block for each share, A's
// first.
template <typename CopyA, typename CopyB>
__device__ __forceinline__ void pack_entry(const GemmArgs& batch, const GemmArgs& args, long long entry) {
  unsigned share = blockIdx.x;
  Operand* to = static_cast<Operand*>(args.workspace);
  if constexpr ((kPack & 1) != 0) {
    const bool shared = !kIsBatched || batch.stride_a == 0;
    const int rows = kTransA ? args.k : args.m, cols = kTransA ? args.m : args.k;
    const long long elements = kIsBatched ? CopyA(args.a, args.lda, rows, cols, to).elements() : 0;
    const CopyA a(args.a, args.lda, rows, cols, to + (shared ? 0 : entry * elements));
    if (share < a.shares()) {
      if (!shared || entry == 0) a.copy(share);
      return;
    }
    share -= a.shares();
    to += (shared ? 1 : batch.batch) * a.elements();
  }
  if constexpr ((kPack & 2) != 0) {
    const bool shared = !kIsBatched || batch.stride_b == 0;
    if (shared && entry != 0) return;
    const int rows = kTransB ? args.n : args.k, cols = kTransB ? args.k : args.n;
    const long long elements = CopyB(args.b, args.ldb, rows, cols, to).elements();
    CopyB(args.b, args.ldb, rows, cols, to + entry * elements).copy(share);
  }
}

// The copies' rows run along K, or along the other dimension.
template <bool kAKMajor, bool kBKMajor, int kCopiesOfA = 1, int kCopiesOfB = 1>
__device__ __forceinline__ void pack_operands(const GemmArgs& batch) {
  using CopyA = PackedCopy<false, (kAKMajor || kOperandBits < 8) == !kTransA, kCopiesOfA>;
  using CopyB = PackedCopy<true, (kBKMajor || kOperandBits < 8) == kTransB, kCopiesOfB>;
  if (batch.k == 0) return;  // nothing is read, so nothing is packed
  if constexpr (!kIsBatched) {
    pack_entry<CopyA, CopyB>(batch, batch, 0);
  } else if (!is_beyond_batch(batch)) {
    pack_entry<CopyA, CopyB>(batch, matrices_of_entry(batch, entry_of_grid()), entry_of_grid());
  }
}

}  // namespace tilesmith
