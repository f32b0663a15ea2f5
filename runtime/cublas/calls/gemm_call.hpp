// A call as the application made it, in cuBLAS's terms: column-major, C(m x n) <- alpha*op(A)*op(B) + beta*C.
#pragma once

#include <cmath>
#include <cstring>

#include "runtime/cublas/calls/cublas_abi.hpp"
#include "runtime/cublas/calls/reason.hpp"

namespace tilesmith::cublas {

enum class BatchKind : std::uint8_t { single, strided, pointers };

struct GemmCall {
  int op_a = kOpN, op_b = kOpN;
  std::int64_t m = 0, n = 0, k = 0;
  const void* alpha = nullptr;
  const void* a = nullptr;
  int type_a = kF32;
  std::int64_t lda = 0;
  const void* b = nullptr;
  int type_b = kF32;
  std::int64_t ldb = 0;
  const void* beta = nullptr;
  const void* c = nullptr;
  void* d = nullptr;  // c, but for cuBLASLt
  int type_d = kF32;  // of C too
  std::int64_t ldd = 0;
  int compute = kCompute32F;
  int scale_type = kF32;

  BatchKind batch_kind = BatchKind::single;
  std::int64_t batch = 1;
  std::int64_t stride_a = 0, stride_b = 0, stride_d = 0;

  int math = kDefaultMath;
  bool device_scalars = false;
  Stream stream = nullptr;
  void* workspace = nullptr;  // what the application gave for this call, or its handle
  std::size_t workspace_bytes = 0;

  // Of cuBLASLt alone.
  int epilogue = kEpilogueNone;
  const void* bias = nullptr;  // m elements
  int bias_type = -1;          // -1: type_d
  const void* scale_a = nullptr;
  const void* scale_b = nullptr;
  int scale_mode_a = kScaleOne, scale_mode_b = kScaleOne;
  bool fast_accum = false;  // sums of 8-bit floats need not be whole f32
};

/// The type of alpha and beta that cuBLAS and cublasGemmEx take for a compute type; -1: of a compute type that is not
/// known here.
int scale_type_of(int compute);

/// Whether a scale mode has scales of blocks of 128 along K.
inline bool is_by_block(int scale_mode) noexcept { return scale_mode == kScale1x128 || scale_mode == kScale128x128; }

/// Whether beta lies on the host and is 0: C is not read then.
bool has_zero_beta(const GemmCall& call) noexcept;

/// Bytes of an element of a cudaDataType_t; 0: not one of ours.
int bytes_of(int type) noexcept;

/// Which of our type pairs computes what a call asks for, by its types, its compute type and the math mode.
/// Reason::none and the pair's name, padded with 0; else why there is none.
Reason pair_of(const GemmCall& call, char (&name)[16]) noexcept;

// Narrow floats on the host.
inline float from_f16(std::uint32_t bits) noexcept {
  const int exponent = int(bits >> 10 & 31), fraction = int(bits & 1023);
  const float magnitude = exponent == 31  ? (fraction == 0 ? INFINITY : NAN)
                          : exponent == 0 ? std::ldexp(float(fraction), -24)
                                          : std::ldexp(float(1024 + fraction), exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

inline float from_f16_at(const void* place) noexcept {
  std::uint16_t bits;
  std::memcpy(&bits, place, sizeof bits);
  return from_f16(bits);
}

}  // namespace tilesmith::cublas
