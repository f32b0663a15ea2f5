// How often the stand-ins for NVIDIA's libraries were called.
#include <atomic>

#include "tests/cublas_shim/cublas.h"

namespace {
std::atomic<int> of_cublas{0}, of_cublaslt{0};
}

extern "C" {
void stand_in_note_cublas_call() { ++of_cublas; }
int stand_in_cublas_calls() { return of_cublas; }
void stand_in_note_cublaslt_call() { ++of_cublaslt; }
int stand_in_cublaslt_calls() { return of_cublaslt; }
}
