// A plug-in that was linked with cuBLAS, as an extension of Python is.
#include "tests/cublas_shim/cublas.h"

extern "C" __attribute__((visibility("default"))) int plugin_multiply() {
  alignas(16) static float matrix[256];
  static void* handle = nullptr;
  const float one = 1, zero = 0;
  if (handle == nullptr) cublasCreate_v2(&handle);
  return cublasGemmEx(handle, 0, 0, 4, 4, 4, &one, matrix, 0, 4, matrix, 0, 4, &zero, matrix, 0, 4, 68, -1);
}
