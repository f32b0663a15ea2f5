// How `simt` reads its operands: a struct for each way in which they may be stored. All have the same members:
//
//   kKOutermost    whether stored rows run along M or N: consecutive threads then walk along them
//   read(k, x)     kPack elements of op(A) or op(B) from k on along K, at x along M or N, as multiply_add() takes them; zeros lie outside
#pragma once

#include "kernels/shared/gemm_args.cuh"
#include "kernels/shared/multiply/block_scales.cuh"
#include "kernels/shared/multiply/sparse_args.cuh"
#include "kernels/shared/multiply/weights.cuh"
#include "kernels/simt/sub_byte.cuh"
#include "kernels/shared/either.cuh"

namespace tilesmith {

template <typename T>
struct Arithmetic {
  using Factor = float;
  using Sum = float;
  static constexpr bool kPacked = false;
};
template <>
struct Arithmetic<double> {
  using Factor = double;
  using Sum = double;
  static constexpr bool kPacked = false;
};
template <>
struct Arithmetic<signed char> {
  using Factor = int;
  using Sum = int;
  static constexpr bool kPacked = true;
};
template <>
struct Arithmetic<unsigned char> {
  using Factor = unsigned;
  using Sum = int;
  static constexpr bool kPacked = true;
};

// With weights all is multiplied as f32, integers too.
using OfOperands = Arithmetic<Either<kHasWeights, float, Operand>>;
using Factor = OfOperands::Factor;  // what lies in shared memory: f32, f64, or a word of kPack integers or bits
using Sum = OfOperands::Sum;

constexpr bool kPacked = OfOperands::kPacked;
constexpr int kPack = kOperandBits == 1 ? 32 : kPacked ? 4 : 1;  // dp4a multiplies four bytes

// The nearest tf32 (ties away from zero), as an f32 whose low 13 bits are zero.
__device__ __forceinline__ float rounded_to_tf32(float value) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return __uint_as_float(bits);
}

// Of kPack neighbours along K, element(i) is the i-th one.
template <typename Element>
__device__ __forceinline__ Factor factor_of(const Element& element) {
  if constexpr (kPacked) {
    unsigned pack = 0;
#pragma unroll
    for (int i = 0; i < kPack; ++i) pack |= unsigned(static_cast<unsigned char>(element(i))) << (8 * i);
    return Factor(pack);
  } else if constexpr (kOperandIsTf32) {
    return rounded_to_tf32(float(element(0)));
  } else {
    return Factor(element(0));
  }
}

template <bool KOutermost>
struct DenseOperand {
  static constexpr bool kKOutermost = KOutermost;

  const Operand* matrix;
  long long ld;
  int size_k, size_x;

  __device__ __forceinline__ DenseOperand(const GemmArgs& args, const void* stored, long long ld, int size_x)
      : matrix(static_cast<const Operand*>(stored)), ld(ld), size_k(args.k), size_x(size_x) {}

  __device__ __forceinline__ Factor read(int k, int x) const {
    return factor_of([&](int i) { return element(matrix, ld, k + i, x, size_k, size_x); });
  }

 private:
  static __device__ __forceinline__ Operand element(
      const Operand* matrix, long long ld, int k, int x, int size_k, int size_x) {
    if (k >= size_k || x >= size_x) return Operand(0);
    return KOutermost ? matrix[k * ld + x] : matrix[x * ld + k];
  }
};

// Elements of 4 bits, which become bytes, and bits.
template <bool KOutermost>
struct SubByteOperand : DenseOperand<KOutermost> {
  using DenseOperand<KOutermost>::DenseOperand;

  __device__ __forceinline__ Factor read(int k, int x) const {
    const unsigned word = elements_of<KOutermost, kPack>(this->matrix, this->ld, k, x, this->size_k, this->size_x);
    if constexpr (kOperandBits == 1) return Factor(word);
    unsigned bytes = (word & 0xf) | (word & 0xf0) << 4 | (word & 0xf00) << 8 | (word & 0xf000) << 12;
    if (kOperandIsSigned) bytes |= (bytes & 0x08080808) * 0x1e;  // bit 3 in bits 4 to 7, too
    return Factor(bytes);
  }
};

// 2:4 sparse: the stored elements lie [x][k / 2], the others are zero.
struct SparseOperand {
  static constexpr bool kKOutermost = false;

  const Operand* matrix;
  long long ld;
  SparseArgs sparse;
  int size_k, size_x;

  __device__ __forceinline__ SparseOperand(const GemmArgs& args, const void* stored, long long ld, int size_x)
      : matrix(static_cast<const Operand*>(stored)), ld(ld), sparse(sparse_of(args)), size_k(args.k), size_x(size_x) {}

  __device__ __forceinline__ Factor read(int k, int x) const {
    return factor_of([&](int i) { return element(matrix, ld, sparse, k + i, x, size_k, size_x); });
  }

 private:
  static __device__ __forceinline__ Operand element(
      const Operand* stored, long long ld, const SparseArgs& sparse, int k, int x, int size_k, int size_x) {
    constexpr int kBytes = int(sizeof(Operand)), kGroup = group_elements(kBytes), kStored = stored_elements(kBytes);
    if (k >= size_k || x >= size_x) return Operand(0);
    const MetadataPlace place = metadata_place(x, k / kGroup, sparse.row_blocks, kBytes);
    const unsigned bits = static_cast<const unsigned*>(sparse.metadata)[place.word] >> place.shift & 15;
#pragma unroll
    for (int i = 0; i < kStored; ++i) {
      if (place_in_group(bits, i, kBytes) == k % kGroup) return stored[x * ld + k / kGroup * kStored + i];
    }
    return Operand(0);
  }
};

// op(B) as weights, each multiplied with its scale.
struct WeightsOperand {
  static constexpr bool kKOutermost = false;

  const GemmArgs& args;

  __device__ __forceinline__ WeightsOperand(const GemmArgs& args, const void*, long long, int) : args(args) {}

  __device__ __forceinline__ Factor read(int k, int n) const {
    return Factor(n < args.n && k < args.k ? weight(args, n, k) : 0.0F);
  }
};

// Each element times its block's scale.
template <typename Numbers, int Kind>
struct ScaledOperand {
  static constexpr bool kKOutermost = Numbers::kKOutermost;

  Numbers numbers;
  BlockScales<Kind> scales;

  __device__ __forceinline__ Factor read(int k, int x) const {
    if (k >= numbers.size_k || x >= numbers.size_x) return Factor(0);
    return numbers.read(k, x) * Factor(scales.at(x, k / kScaleBlock));
  }
};

template <bool KOutermost>
using PlainOperand = Either<(kOperandBits < 8), SubByteOperand<KOutermost>, DenseOperand<KOutermost>>;
using OperandA = Either<kIsSparse && !kSparseB, SparseOperand, PlainOperand<kTransA>>;
using OperandB =
    Either<kHasWeights, WeightsOperand, Either<kIsSparse && kSparseB, SparseOperand, PlainOperand<!kTransB>>>;

// The operands of an entry of `all`.
__device__ __forceinline__ auto operand_a(const GemmArgs& all, const GemmArgs& args, int entry) {
  const OperandA numbers(args, args.a, args.lda, args.m);
  if constexpr (kHasBlockScales) {
    using Scales = BlockScales<kBlockScaleM>;
    const int matrix = all.stride_a == 0 ? 0 : entry;
    return ScaledOperand<OperandA, kBlockScaleM>{numbers, Scales(all.scale_m, all.m, all.k, matrix)};
  } else {
    return numbers;
  }
}
__device__ __forceinline__ auto operand_b(const GemmArgs& all, const GemmArgs& args, int entry) {
  const OperandB numbers(args, args.b, args.ldb, args.n);
  if constexpr (kHasBlockScales) {
    using Scales = BlockScales<kBlockScaleN>;
    const int matrix = all.stride_b == 0 ? 0 : entry;
    return ScaledOperand<OperandB, kBlockScaleN>{numbers, Scales(all.scale_n, all.n, all.k, matrix)};
  } else {
    return numbers;
  }
}

}  // namespace tilesmith
