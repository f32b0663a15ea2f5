// A program under a shim with NVIDIA's own cuBLAS, on a machine without a GPU: what can be had of both. No handle can
// be made, so cuBLAS refuses each call that is forwarded; cuBLASLt's descriptors are real ones.
#include <dlfcn.h>

#include <initializer_list>

#include "tests/cublas_shim/client.hpp"

namespace {

alignas(256) char memory[65536];
char no_handle[65536];  // all 0: none that cuBLASLt has made
const float kOne = 1, kZero = 0;

/// `scale_modes`: of A and B, whose elements are 8-bit floats then.
void matmul(int type, int compute, int epilogue, const std::string& expected, const int* scale_modes = nullptr) {
  void *desc = nullptr, *a = nullptr, *b = nullptr, *d = nullptr;
  const void* const bias = memory;
  const int transposed = 1;
  EXPECT(cublasLtMatmulDescCreate(&desc, compute, 0) == 0);
  EXPECT(cublasLtMatmulDescSetAttribute(desc, 3, &transposed, 4) == 0);
  for (int operand = 0; scale_modes != nullptr && operand < 2; ++operand) {
    EXPECT(cublasLtMatmulDescSetAttribute(desc, 17 + operand, &bias, 8) == 0);
    EXPECT(cublasLtMatmulDescSetAttribute(desc, 31 + operand, &scale_modes[operand], 4) == 0);
  }
  EXPECT(cublasLtMatmulDescSetAttribute(desc, 7, &epilogue, 4) == 0);
  EXPECT(cublasLtMatmulDescSetAttribute(desc, 8, &bias, 8) == 0);
  const int type_ab = scale_modes != nullptr ? 28 : type, k = scale_modes != nullptr ? 512 : 16;
  EXPECT(cublasLtMatrixLayoutCreate(&a, type_ab, std::uint64_t(k), 24, k) == 0);
  EXPECT(cublasLtMatrixLayoutCreate(&b, type_ab, std::uint64_t(k), 8, k) == 0);
  EXPECT(cublasLtMatrixLayoutCreate(&d, type, 24, 8, 24) == 0);
  const int before = runs();
  for (int i = 0; i < 5000 && runs() == before; ++i) {
    cublasLtMatmul(no_handle, desc, &kOne, memory, a, memory + 4096, b, &kZero, memory + 8192, d, memory + 8192, d,
        nullptr, nullptr, 0, nullptr);
    usleep(2000);
  }
  EXPECT(runs() > before);
  if (runs() > before) expect_text(__FILE__, __LINE__, last_problem(), expected);
  cublasLtMatmulDescDestroy(desc);
  for (void* layout : {a, b, d}) cublasLtMatrixLayoutDestroy(layout);
}

}  // namespace

int main(int, char** arguments) {
  const int major = std::atoi(arguments[1]);
  // Functions that go through a trampoline where the shim has cuBLAS's name.
  const auto version = reinterpret_cast<int (*)(int, int*)>(dlsym(RTLD_DEFAULT, "cublasGetProperty"));
  const auto name = reinterpret_cast<const char* (*)(int)>(dlsym(RTLD_DEFAULT, "cublasGetStatusName"));
  int number = 0;
  EXPECT(version != nullptr && version(0, &number) == 0 && number == major);
  EXPECT(name != nullptr && std::string(name(15)) == "CUBLAS_STATUS_NOT_SUPPORTED");
  EXPECT(cublasGemmEx(nullptr, 0, 0, 4, 4, 4, &kOne, memory, 0, 4, memory, 0, 4, &kZero, memory, 0, 4, 68, -1) == 1);
  EXPECT(cublasSetStream_v2(nullptr, nullptr) == 1);
  matmul(14, 68, 1, "bf16f32bf16 NT 8 24 16");
  matmul(2, 68, 4 | 32, "f16f32f16 NT 8 24 16 epilogue=bias_n+gelu_tanh");
  matmul(0, 77, 6, "tf32f32 NT 8 24 16 epilogue=bias_n+relu");
  const int scale_modes[] = {5, 4};
  if (major == 13) matmul(14, 68, 1, "e4m3f32bf16 NT 8 24 512 epilogue=scale_m_1x128+scale_n_128x128", scale_modes);
  if (failures == 0) std::puts("as expected");
  return failures == 0 ? 0 : 1;
}
