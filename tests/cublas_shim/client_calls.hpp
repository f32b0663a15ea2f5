// The calls that the linked program makes.
#pragma once

#include "tests/cublas_shim/client.hpp"

inline void* handle = nullptr;
// "Device memory", 256-byte aligned.
alignas(256) inline char memory[1 << 20];
inline void* const kA = memory;
inline void* const kB = memory + 4096;
inline void* const kC = memory + 8192;
inline const float kOne = 1, kZero = 0, kTwo = 2;
inline const double kOneD = 1, kZeroD = 0;
inline const std::uint16_t kOneH = 0x3C00, kZeroH = 0, kHalfH = 0x3800;
inline const std::int32_t kOneI = 1, kZeroI = 0;
constexpr int N = 0, T = 1, F32 = 0, F64 = 1, F16 = 2, S8 = 3, S32 = 10, BF16 = 14, E4M3 = 28;
constexpr int COMPUTE_16F = 64, COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32I = 72, FAST_16BF = 75, FAST_TF32 = 77;

inline int gemm_ex(int k, int type = F16, int type_c = F16, int compute = COMPUTE_32F, const void* alpha = &kOne,
    const void* beta = &kZero) {
  return cublasGemmEx(handle, T, N, 3, 5, k, alpha, kA, type, k, kB, type, k, beta, kC, type_c, 3, compute, -1);
}
inline int f32_gemm(int k) {
  return cublasSgemm_v2(handle, N, N, 8, 5, k, &kOne, (float*)kA, 8, (float*)kB, k, &kZero, (float*)kC, 8);
}

#define TAKES(call, expected)                                                  \
  do {                                                                         \
    EXPECT(is_taken_over([&] { return call; }));                               \
    if (runs() > 0) expect_text(__FILE__, __LINE__, last_problem(), expected); \
  } while (false)

struct Matmul {
  void* desc = nullptr;
  void* a = nullptr;
  void* b = nullptr;
  void* d = nullptr;
  const void* beta = &kZero;
  void* c = kC;
  void* workspace = nullptr;
  std::size_t bytes = 0;

  explicit Matmul(int k, int type = BF16, int type_d = BF16, int compute = COMPUTE_32F) {
    cublasLtMatmulDescCreate(&desc, compute, F32);
    cublasLtMatrixLayoutCreate(&a, type, 8, std::uint64_t(k), 8);
    cublasLtMatrixLayoutCreate(&b, type, std::uint64_t(k), 5, k);
    cublasLtMatrixLayoutCreate(&d, type_d, 8, 5, 8);
  }
  template <typename Value>
  void set(int attribute, Value value) {
    EXPECT(cublasLtMatmulDescSetAttribute(desc, attribute, &value, sizeof value) == 0);
  }
  int operator()() const {
    return cublasLtMatmul(handle, desc, &kOne, kA, a, kB, b, beta, c, d, kC, d, nullptr, workspace, bytes, nullptr);
  }
};

constexpr int VEC128 = 4, BLK128x128 = 5;
/// 8-bit floats with scales of blocks, as cuBLASLt wants them: (8 x k) * (k x 12), K contiguous, no fast accumulation.
struct BlockScaled : Matmul {
  explicit BlockScaled(int k, int mode_a = BLK128x128, int mode_b = VEC128, int type_d = BF16)
      : Matmul(k, E4M3, type_d) {
    for (void* layout : {a, b, d}) cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatrixLayoutCreate(&a, E4M3, std::uint64_t(k), 8, k);
    cublasLtMatrixLayoutCreate(&b, E4M3, std::uint64_t(k), 12, k);
    cublasLtMatrixLayoutCreate(&d, type_d, 8, 12, 8);
    set(3, T);
    set(17, (const void*)kA);
    set(18, (const void*)kB);
    set(31, mode_a);
    set(32, mode_b);
  }
};

/// What each call becomes.
void types();
/// Each form of each function.
void forms();
void matmuls();
void block_scales();
