/* Of cuBLAS, what the tests call. */
#ifndef TILESMITH_TESTS_CUBLAS_H
#define TILESMITH_TESTS_CUBLAS_H

#include <cstddef>
#include <cstdint>

// X(name, parameters): of libcublas.
#define GEMM_EX_ARGS(INT) \
  (void* h, int ta, int tb, INT m, INT n, INT k, const void* alpha, const void* a, int a_type, INT lda, const void* b, int b_type, INT ldb, \
   const void* beta, void* c, int c_type, INT ldc, int compute, int algo)
#define STRIDED_EX_ARGS(INT)                                                                                                                       \
  (void* h, int ta, int tb, INT m, INT n, INT k, const void* alpha, const void* a, int a_type, INT lda, long long sa, const void* b, int b_type,   \
   INT ldb, long long sb, const void* beta, void* c, int c_type, INT ldc, long long sc, INT count, int compute, int algo)
#define BATCHED_EX_ARGS(INT)                                                                                                                       \
  (void* h, int ta, int tb, INT m, INT n, INT k, const void* alpha, const void* const* a, int a_type, INT lda, const void* const* b, int b_type,   \
   INT ldb, const void* beta, void* const* c, int c_type, INT ldc, INT count, int compute, int algo)
#define GEMM_ARGS(T, INT) \
  (void* h, int ta, int tb, INT m, INT n, INT k, const T* alpha, const T* a, INT lda, const T* b, INT ldb, const T* beta, T* c, INT ldc)
#define STRIDED_ARGS(T, INT)                                                                                                                  \
  (void* h, int ta, int tb, INT m, INT n, INT k, const T* alpha, const T* a, INT lda, long long sa, const T* b, INT ldb, long long sb,        \
   const T* beta, T* c, INT ldc, long long sc, INT count)
#define BATCHED_ARGS(T, INT)                                                                                                                  \
  (void* h, int ta, int tb, INT m, INT n, INT k, const T* alpha, const T* const* a, INT lda, const T* const* b, INT ldb, const T* beta,       \
   T* const* c, INT ldc, INT count)
#define SGEMM_EX_ARGS(INT)                                                                                                                    \
  (void* h, int ta, int tb, INT m, INT n, INT k, const float* alpha, const void* a, int a_type, INT lda, const void* b, int b_type, INT ldb,  \
   const float* beta, void* c, int c_type, INT ldc)

#define GEMMS(X)                                                 \
  X(cublasGemmEx, GEMM_EX_ARGS(int))                             \
  X(cublasGemmEx_64, GEMM_EX_ARGS(std::int64_t))                 \
  X(cublasGemmStridedBatchedEx, STRIDED_EX_ARGS(int))            \
  X(cublasGemmStridedBatchedEx_64, STRIDED_EX_ARGS(std::int64_t)) \
  X(cublasGemmBatchedEx, BATCHED_EX_ARGS(int))                   \
  X(cublasGemmBatchedEx_64, BATCHED_EX_ARGS(std::int64_t))       \
  X(cublasSgemm_v2, GEMM_ARGS(float, int))                       \
  X(cublasSgemm_v2_64, GEMM_ARGS(float, std::int64_t))           \
  X(cublasDgemm_v2, GEMM_ARGS(double, int))                      \
  X(cublasDgemm_v2_64, GEMM_ARGS(double, std::int64_t))          \
  X(cublasHgemm, GEMM_ARGS(void, int))                           \
  X(cublasHgemm_64, GEMM_ARGS(void, std::int64_t))               \
  X(cublasSgemmStridedBatched, STRIDED_ARGS(float, int))         \
  X(cublasSgemmStridedBatched_64, STRIDED_ARGS(float, std::int64_t)) \
  X(cublasDgemmStridedBatched, STRIDED_ARGS(double, int))        \
  X(cublasDgemmStridedBatched_64, STRIDED_ARGS(double, std::int64_t)) \
  X(cublasHgemmStridedBatched, STRIDED_ARGS(void, int))          \
  X(cublasHgemmStridedBatched_64, STRIDED_ARGS(void, std::int64_t)) \
  X(cublasSgemmBatched, BATCHED_ARGS(float, int))                \
  X(cublasSgemmBatched_64, BATCHED_ARGS(float, std::int64_t))    \
  X(cublasDgemmBatched, BATCHED_ARGS(double, int))               \
  X(cublasDgemmBatched_64, BATCHED_ARGS(double, std::int64_t))   \
  X(cublasHgemmBatched, BATCHED_ARGS(void, int))                 \
  X(cublasHgemmBatched_64, BATCHED_ARGS(void, std::int64_t))     \
  X(cublasSgemmEx, SGEMM_EX_ARGS(int))                           \
  X(cublasSgemmEx_64, SGEMM_EX_ARGS(std::int64_t))

extern "C" {
#define DECLARE(name, parameters) int name parameters;
GEMMS(DECLARE)
#undef DECLARE
int cublasCreate_v2(void** handle);
int cublasDestroy_v2(void* handle);
int cublasSetStream_v2(void* handle, void* stream);
int cublasGetStream_v2(void* handle, void** stream);
int cublasSetWorkspace_v2(void* handle, void* memory, std::size_t bytes);
int cublasSetPointerMode_v2(void* handle, int mode);
int cublasGetPointerMode_v2(void* handle, int* mode);
int cublasSetMathMode(void* handle, int mode);
int cublasGetMathMode(void* handle, int* mode);
int cublasSaxpy_v2(void* handle, int n, const float* alpha, const float* x, int incx, float* y, int incy);
double cublasDasum(int n, const double* x, int incx);                             /* the first interface: values, not a status */
void cublasSgemm(char ta, char tb, int m, int n, int k, float alpha, const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc);

int cublasLtMatmulDescCreate(void** desc, int compute, int scale);
int cublasLtMatmulDescDestroy(void* desc);
int cublasLtMatmulDescSetAttribute(void* desc, int attribute, const void* value, std::size_t bytes);
int cublasLtMatmulDescGetAttribute(void* desc, int attribute, void* value, std::size_t bytes, std::size_t* written);
int cublasLtMatrixLayoutCreate(void** layout, int type, std::uint64_t rows, std::uint64_t cols, std::int64_t ld);
int cublasLtMatrixLayoutDestroy(void* layout);
int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value, std::size_t bytes);
int cublasLtMatrixLayoutGetAttribute(void* layout, int attribute, void* value, std::size_t bytes, std::size_t* written);
int cublasLtCreate(void** handle);
int cublasLtMatmul(void* handle, void* desc, const void* alpha, const void* a, void* la, const void* b, void* lb, const void* beta, const void* c,
                   void* lc, void* d, void* ld, const void* algo, void* workspace, std::size_t bytes, void* stream);

/* Of the stand-in of cuBLASLt, which a program sees whichever cuBLAS it was linked with: how often each library's functions ran. */
int stand_in_cublas_calls();
void stand_in_note_cublas_call();
void stand_in_note_cublaslt_call();
int stand_in_cublaslt_calls();
}

#endif
