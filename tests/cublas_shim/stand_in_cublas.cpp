// A libcublas.so.N with its SONAME and version node. Its GEMMs count, and fill f32 results with 1. GEMMs of 16-bit
// floats go through cuBLASLt, as NVIDIA's do at times.
#include <cstring>

#include "tests/cublas_shim/cublas.h"

namespace {

struct State {
  void* stream = nullptr;
  int pointer_mode = 0, math = 0;
};

int fill(float* c, std::int64_t m, std::int64_t n, std::int64_t ldc) {
  stand_in_note_cublas_call();
  for (std::int64_t j = 0; c != nullptr && j < n; ++j) {
    for (std::int64_t i = 0; i < m; ++i) c[j * ldc + i] = 1;
  }
  return 0;
}

int through_lt(int a_type) {
  stand_in_note_cublas_call();
  if (a_type != 2) return 0;
  // With nothing described: a shim that looked at it would forward it, and count it.
  return cublasLtMatmul(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
      nullptr, nullptr, nullptr, nullptr, 0, nullptr);
}

}  // namespace

extern "C" {
int cublasGemmEx GEMM_EX_ARGS(int) {
  return a_type == 0 && c_type == 0 ? fill(static_cast<float*>(c), m, n, ldc) : through_lt(a_type);
}
int cublasGemmEx_64 GEMM_EX_ARGS(std::int64_t) { return through_lt(a_type); }
#define COUNT(name, parameters) \
  int name parameters { return stand_in_note_cublas_call(), 0; }
COUNT(cublasGemmStridedBatchedEx, STRIDED_EX_ARGS(int))
COUNT(cublasGemmStridedBatchedEx_64, STRIDED_EX_ARGS(std::int64_t))
COUNT(cublasGemmBatchedEx, BATCHED_EX_ARGS(int))
COUNT(cublasGemmBatchedEx_64, BATCHED_EX_ARGS(std::int64_t))
int cublasSgemm_v2 GEMM_ARGS(float, int) { return fill(c, m, n, ldc); }
COUNT(cublasSgemm_v2_64, GEMM_ARGS(float, std::int64_t))
COUNT(cublasDgemm_v2, GEMM_ARGS(double, int))
COUNT(cublasDgemm_v2_64, GEMM_ARGS(double, std::int64_t))
COUNT(cublasHgemm, GEMM_ARGS(void, int))
COUNT(cublasHgemm_64, GEMM_ARGS(void, std::int64_t))
COUNT(cublasSgemmStridedBatched, STRIDED_ARGS(float, int))
COUNT(cublasSgemmStridedBatched_64, STRIDED_ARGS(float, std::int64_t))
COUNT(cublasDgemmStridedBatched, STRIDED_ARGS(double, int))
COUNT(cublasDgemmStridedBatched_64, STRIDED_ARGS(double, std::int64_t))
COUNT(cublasHgemmStridedBatched, STRIDED_ARGS(void, int))
COUNT(cublasHgemmStridedBatched_64, STRIDED_ARGS(void, std::int64_t))
COUNT(cublasSgemmBatched, BATCHED_ARGS(float, int))
COUNT(cublasSgemmBatched_64, BATCHED_ARGS(float, std::int64_t))
COUNT(cublasDgemmBatched, BATCHED_ARGS(double, int))
COUNT(cublasDgemmBatched_64, BATCHED_ARGS(double, std::int64_t))
COUNT(cublasHgemmBatched, BATCHED_ARGS(void, int))
COUNT(cublasHgemmBatched_64, BATCHED_ARGS(void, std::int64_t))
COUNT(cublasSgemmEx, SGEMM_EX_ARGS(int))
COUNT(cublasSgemmEx_64, SGEMM_EX_ARGS(std::int64_t))

int cublasCreate_v2(void** handle) { return *handle = new State(), 0; }
int cublasDestroy_v2(void* handle) { return delete static_cast<State*>(handle), 0; }
int cublasSetStream_v2(void* handle, void* stream) { return static_cast<State*>(handle)->stream = stream, 0; }
int cublasGetStream_v2(void* handle, void** stream) { return *stream = static_cast<State*>(handle)->stream, 0; }
int cublasSetWorkspace_v2(void*, void*, std::size_t) { return 0; }
int cublasSetPointerMode_v2(void* handle, int mode) { return static_cast<State*>(handle)->pointer_mode = mode, 0; }
int cublasGetPointerMode_v2(void* handle, int* mode) { return *mode = static_cast<State*>(handle)->pointer_mode, 0; }
int cublasSetMathMode(void* handle, int mode) { return static_cast<State*>(handle)->math = mode, 0; }
int cublasGetMathMode(void* handle, int* mode) { return *mode = static_cast<State*>(handle)->math, 0; }

int cublasSaxpy_v2(void*, int n, const float* alpha, const float* x, int incx, float* y, int incy) {
  for (int i = 0; i < n; ++i) y[i * incy] += *alpha * x[i * incx];
  return 0;
}
double cublasDasum(int n, const double* x, int incx) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += x[i * incx] < 0 ? -x[i * incx] : x[i * incx];
  return sum;
}
void cublasSgemm(char ta, char tb, int m, int n, int k, float alpha, const float*, int lda, const float*, int ldb,
    float beta, float* c, int ldc) {
  c[0] = ta == 'n' && tb == 't' ? float(m + n + k + lda + ldb + ldc) * alpha + beta : -1;
}
}
