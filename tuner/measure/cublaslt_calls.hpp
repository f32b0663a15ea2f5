// cuBLASLt's binary interface, as far as the peer uses it: the same from CUDA 11 to 13. Declared by hand so that
// building needs no cuBLAS headers.
#pragma once

#include "kernels/problem/type_pair.hpp"
#include "runtime/cublas/calls/cublas_abi.hpp"

namespace tilesmith::tuner::cublaslt {

using namespace cublas;  // the numbers

inline constexpr int kPreferenceWorkspaceBytes = 1, kPreferenceAlignment[] = {5, 6, 7, 8};  // A, B, C, D
/// Attributes of an algorithm, and how many bytes each has. The last two came with CUDA 12.
struct AlgorithmWord {
  const char* word;
  int attribute;
  std::size_t bytes;
};
inline constexpr AlgorithmWord kAlgorithmWords[] = {{"id", 0, 4}, {"tile", 1, 4}, {"stages", 6, 4}, {"split_k", 2, 4},
    {"reduction", 3, 4}, {"swizzle", 4, 4}, {"custom", 5, 4}, {"inner", 7, 2}, {"cluster", 8, 2}};

struct Algorithm {
  std::uint64_t data[8];
};
struct HeuristicResult {
  Algorithm algorithm;
  std::size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

struct Functions {
  int (*create)(Handle*);
  int (*destroy)(Handle);
  std::size_t (*version)();
  int (*desc_create)(Descriptor*, int compute, int scale);
  int (*desc_destroy)(Descriptor);
  int (*desc_set)(Descriptor, int attribute, const void* value, std::size_t bytes);
  int (*layout_create)(Descriptor*, int type, std::uint64_t rows, std::uint64_t cols, std::int64_t ld);
  int (*layout_destroy)(Descriptor);
  int (*layout_set)(Descriptor, int attribute, const void* value, std::size_t bytes);
  int (*preference_create)(Descriptor*);
  int (*preference_destroy)(Descriptor);
  int (*preference_set)(Descriptor, int attribute, const void* value, std::size_t bytes);
  int (*heuristics)(Handle, Descriptor matmul, Descriptor a, Descriptor b, Descriptor c, Descriptor d,
      Descriptor preference, int wanted, HeuristicResult*, int* found);
  int (*matmul)(Handle, Descriptor matmul, const void* alpha, const void* a, Descriptor la, const void* b,
      Descriptor lb, const void* beta, const void* c, Descriptor lc, void* d, Descriptor ld, const Algorithm*,
      void* workspace, std::size_t workspace_bytes, CUstream_st*);
  int (*algorithm_get)(
      const Algorithm*, int attribute, void* value, std::size_t bytes, std::size_t* written);  // null: not there
};

/// Its name of a type; -1: it has none.
inline int data_type(Scalar scalar) {
  switch (scalar) {
    case Scalar::f16: return kF16;
    case Scalar::bf16: return kBf16;
    case Scalar::tf32:
    case Scalar::f32:
    case Scalar::f32x3: return kF32;
    case Scalar::f64: return kF64;
    case Scalar::s8: return kS8;
    case Scalar::u8: return kU8;
    case Scalar::s32: return kS32;
    case Scalar::e4m3: return kE4m3;
    case Scalar::e5m2: return kE5m2;
    case Scalar::s4:
    case Scalar::u4:
    case Scalar::b1:
    case Scalar::b1xor: break;
  }
  return -1;
}

struct Arithmetic {
  int compute;
  int scale;
};

inline Arithmetic arithmetic_of(const TypePair& type) {
  if (type.a == Scalar::tf32) return {kCompute32FFastTf32, kF32};
  switch (type.accumulator) {
    case Scalar::f16: return {kCompute16F, kF16};
    case Scalar::f64: return {kCompute64F, kF64};
    case Scalar::s32: return {kCompute32I, makes_integers_real(type) ? kF32 : kS32};
    default: return {kCompute32F, kF32};
  }
}

}  // namespace tilesmith::tuner::cublaslt
