// cuBLASLt's binary interface, as far as the peer uses it: the same from CUDA 11 to 13. Declared by hand so that
// building needs no cuBLAS headers.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "runtime/cublas/calls/cublas_abi.hpp"
#include "runtime/driver/device.hpp"
#include "tuner/measure/operand_sets.hpp"

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

// clang-format off
// X(name, name in libcublasLt, parameters)
#define TILESMITH_CUBLASLT_FUNCTIONS(X)                                                                                \
  X(create, "cublasLtCreate", (Handle*))                                                                               \
  X(destroy, "cublasLtDestroy", (Handle))                                                                              \
  X(desc_create, "cublasLtMatmulDescCreate", (Descriptor*, int compute, int scale))                                    \
  X(desc_destroy, "cublasLtMatmulDescDestroy", (Descriptor))                                                           \
  X(desc_set, "cublasLtMatmulDescSetAttribute", (Descriptor, int attribute, const void* value, std::size_t bytes))     \
  X(layout_create, "cublasLtMatrixLayoutCreate",                                                                       \
    (Descriptor*, int type, std::uint64_t rows, std::uint64_t cols, std::int64_t ld))                                  \
  X(layout_destroy, "cublasLtMatrixLayoutDestroy", (Descriptor))                                                       \
  X(layout_set, "cublasLtMatrixLayoutSetAttribute", (Descriptor, int attribute, const void* value, std::size_t bytes)) \
  X(preference_create, "cublasLtMatmulPreferenceCreate", (Descriptor*))                                                \
  X(preference_destroy, "cublasLtMatmulPreferenceDestroy", (Descriptor))                                               \
  X(preference_set, "cublasLtMatmulPreferenceSetAttribute",                                                            \
    (Descriptor, int attribute, const void* value, std::size_t bytes))                                                 \
  X(heuristics, "cublasLtMatmulAlgoGetHeuristic",                                                                      \
    (Handle, Descriptor matmul, Descriptor a, Descriptor b, Descriptor c, Descriptor d, Descriptor preference,         \
     int wanted, HeuristicResult*, int* found))                                                                        \
  X(matmul, "cublasLtMatmul",                                                                                          \
    (Handle, Descriptor matmul, const void* alpha, const void* a, Descriptor la, const void* b, Descriptor lb,         \
     const void* beta, const void* c, Descriptor lc, void* d, Descriptor ld, const Algorithm*, void* workspace,        \
     std::size_t workspace_bytes, CUstream_st*))
// clang-format on

struct Functions {
#define TILESMITH_DECLARE(name, symbol, parameters) int(*name) parameters;
  TILESMITH_CUBLASLT_FUNCTIONS(TILESMITH_DECLARE)
#undef TILESMITH_DECLARE
  std::size_t (*version)();
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

/// α and β as cuBLASLt is given them: in the peer's scale type, the values that our own competitors have (timed_scalar); in device memory where the
/// problem has them there.
class Factors {
 public:
  explicit Factors(const Problem& problem)
      : host_{bits(problem, OperandRole::alpha), bits(problem, OperandRole::beta)} {
    if (problem.scalars != Scalars::device) return;
    device_ = runtime::DeviceBuffer(sizeof host_);
    device_.upload(std::as_bytes(std::span(host_)));
  }

  bool are_on_device() const { return device_.size() != 0; }
  /// C need not be there.
  bool is_beta_known_zero() const { return host_[1] == 0 && !are_on_device(); }
  const void* alpha() const { return at(0); }
  const void* beta() const { return at(1); }

 private:
  const void* at(std::size_t which) const {
    if (are_on_device()) return device_.data() + which * sizeof host_[0];
    return &host_[which];
  }

  /// 0, ½ or 1 in the low bytes of a word.
  static std::uint64_t bits(const Problem& problem, OperandRole role) {
    const double value = timed_scalar(problem, role);
    std::uint64_t word = 0;
    const auto put = [&word](auto as) { std::memcpy(&word, &as, sizeof as); };
    switch (arithmetic_of(problem.type).scale) {
      case kF16: put(std::uint16_t(value == 0 ? 0 : value == 0.5 ? 0x3800 : 0x3C00)); break;
      case kF64: put(value); break;
      case kS32: put(std::int32_t(value == 0 ? 0 : 1)); break;
      default: put(float(value)); break;
    }
    return word;
  }

  std::array<std::uint64_t, 2> host_;
  runtime::DeviceBuffer device_;
};

}  // namespace tilesmith::tuner::cublaslt
