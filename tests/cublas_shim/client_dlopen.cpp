// A program that is linked with nothing of CUDA's: it opens cuBLAS or cuBLASLt by name, or a plug-in that was linked
// with it. With a second argument it asks the whole process for the functions, instead of the library.
#include "tests/cublas_shim/client.hpp"

int main(int count, char** arguments) {
  void* const opened = dlopen(arguments[1], RTLD_NOW | (count > 2 ? RTLD_GLOBAL : RTLD_LOCAL));
  void* const library = opened != nullptr && count > 2 ? RTLD_DEFAULT : opened;
  if (opened == nullptr) {
    std::puts(dlerror());
    return 1;
  }
  const std::string name = arguments[1];
  if (name.find("plugin") != std::string::npos) {
    auto* const multiply = reinterpret_cast<int (*)()>(dlsym(library, "plugin_multiply"));
    EXPECT(is_taken_over([&] { return multiply(); }));
  } else if (name.find("libcublasLt") != std::string::npos) {
    const auto function = [&](const char* symbol) { return dlsym(library, symbol); };
    auto* const make_desc = reinterpret_cast<decltype(&cublasLtMatmulDescCreate)>(function("cublasLtMatmulDescCreate"));
    auto* const make_layout =
        reinterpret_cast<decltype(&cublasLtMatrixLayoutCreate)>(function("cublasLtMatrixLayoutCreate"));
    auto* const matmul = reinterpret_cast<decltype(&cublasLtMatmul)>(function("cublasLtMatmul"));
    void *desc = nullptr, *layout = nullptr;
    alignas(16) static float matrix[256];
    const float one = 1, zero = 0;
    EXPECT(make_desc(&desc, 68, 0) == 0 && make_layout(&layout, 0, 8, 8, 8) == 0);
    EXPECT(is_taken_over([&] {
      return matmul(nullptr, desc, &one, matrix, layout, matrix + 64, layout, &zero, matrix + 128, layout, matrix + 128,
          layout, nullptr, nullptr, 0, nullptr);
    }));
  } else {
    auto* const create = reinterpret_cast<decltype(&cublasCreate_v2)>(dlsym(library, "cublasCreate_v2"));
    auto* const gemm = reinterpret_cast<decltype(&cublasGemmEx)>(dlsym(library, "cublasGemmEx"));
    auto* const asum = reinterpret_cast<decltype(&cublasDasum)>(dlsym(library, "cublasDasum"));
    alignas(16) static float matrix[256];
    const float one = 1, zero = 0;
    const double values[3] = {1, -2, 3};
    void* handle = nullptr;
    EXPECT(create(&handle) == 0);
    EXPECT(asum(3, values, 1) == 6);
    EXPECT(is_taken_over(
        [&] { return gemm(handle, 0, 0, 4, 4, 4, &one, matrix, 0, 4, matrix, 0, 4, &zero, matrix, 0, 4, 68, -1); }));
  }
  if (failures == 0) std::puts("as expected");
  return failures == 0 ? 0 : 1;
}
