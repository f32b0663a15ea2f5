// cuBLASLt's binary interface, as far as the peer uses it.
#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st;

namespace tilesmith::tuner::cublaslt {

// The part of cuBLASLt's binary interface that is used here, as its documentation fixes it: the same from CUDA 11 to 13.
// Declared by hand so that building needs no cuBLAS headers.
using Handle = void*;
using Descriptor = void*;
enum DataType : int { kF32 = 0, kF64 = 1, kF16 = 2, kS8 = 3, kU8 = 8, kS32 = 10, kBf16 = 14, kE4m3 = 28, kE5m2 = 29 };
enum ComputeType : int { kCompute16F = 64, kCompute32F = 68, kCompute64F = 70, kCompute32I = 72, kComputeTf32 = 77 };
inline constexpr int kDescPointerMode = 2, kPointersToDevice = 1;  // of α and β
inline constexpr int kDescTransA = 3, kDescTransB = 4, kDescEpilogue = 7, kDescBiasPointer = 8, kDescBiasType = 26;
inline constexpr int kDescScaleA = 17, kDescScaleB = 18, kDescScaleModeA = 31, kDescScaleModeB = 32;
inline constexpr int kScaleOne = 0, kScaleEach = 3;  // an f32 for the whole operand, or for each of its vectors along K
inline constexpr int kEpilogueNone = 1, kEpilogueBias = 4;  // with an activation (kActivations): their sum
inline constexpr int kPreferenceWorkspaceBytes = 1, kPreferenceAlignment[] = {5, 6, 7, 8};  // A, B, C, D
inline constexpr int kLayoutBatchCount = 5, kLayoutBatchOffset = 6;  // int32; int64, elements
/// Attributes of an algorithm, and how many bytes each has. The last two came with CUDA 12.
struct AlgorithmWord {
  const char* word;
  int attribute;
  std::size_t bytes;
};
inline constexpr AlgorithmWord kAlgorithmWords[] = {{"id", 0, 4},        {"tile", 1, 4},   {"stages", 6, 4}, {"split_k", 2, 4},
                                                    {"reduction", 3, 4}, {"swizzle", 4, 4}, {"custom", 5, 4}, {"inner", 7, 2},
                                                    {"cluster", 8, 2}};
inline constexpr int kTransposeNo = 0, kTransposeYes = 1;

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
  int (*matmul)(Handle, Descriptor matmul, const void* alpha, const void* a, Descriptor la, const void* b, Descriptor lb,
                const void* beta, const void* c, Descriptor lc, void* d, Descriptor ld, const Algorithm*,
                void* workspace, std::size_t workspace_bytes, CUstream_st*);
  int (*algorithm_get)(const Algorithm*, int attribute, void* value, std::size_t bytes, std::size_t* written);  // null: not there
};

}  // namespace tilesmith::tuner::cublaslt
