// libcublasLt.so.N by name: cublasLtMatmul is that of the shim that has cuBLAS's name; all else is forwarded. cuBLAS
// itself is then linked with this file, so it forwards what only cuBLAS calls, too.
#include <dlfcn.h>

#include <cstring>
#include <string>

#include "runtime/cublas/calls/cublas_abi.hpp"
#include "runtime/cublas/shim/real_library.hpp"
#include "runtime/cublas/shim/settings.hpp"
#include "runtime/cublas/shim/trampolines.hpp"

namespace {

#define TILESMITH_TEXT_(x) #x
#define TILESMITH_TEXT(x) TILESMITH_TEXT_(x)
constexpr const char* kMajor = TILESMITH_TEXT(TILESMITH_CUDA_MAJOR);

int not_supported() { return tilesmith::cublas::kNotSupported; }

void* matmul_of_shim() noexcept {
  try {
    const std::string shim =
        tilesmith::cublas::own_folder() + "../tilesmith-cublas" + kMajor + "/libcublas.so." + kMajor;
    void* const handle = dlopen(shim.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) tilesmith::cublas::say("%s; cublasLtMatmul is forwarded", dlerror());
    return handle != nullptr ? dlvsym(handle, "cublasLtMatmul", (std::string("libcublasLt.so.") + kMajor).c_str())
                             : nullptr;
  } catch (...) {
    return nullptr;
  }
}

}  // namespace

void* tilesmith_cublas_resolve(std::size_t index) {
  using tilesmith::cublas::Library;
  const char* const name = tilesmith_cublas_names[index];
  void* target = std::strcmp(name, "cublasLtMatmul") == 0 ? matmul_of_shim() : nullptr;
  if (target == nullptr) target = tilesmith::cublas::real_symbol(Library::cublaslt, name);
  if (target == nullptr) target = reinterpret_cast<void*>(&not_supported);
  __atomic_store_n(&tilesmith_cublas_targets[index], target, __ATOMIC_RELEASE);
  return target;
}
