// Behind the assembly that Trampolines.cmake makes of cuBLAS's names: finds the function that a name stands for when it
// is first called.
#include "runtime/cublas/shim/trampolines.hpp"

#include "runtime/cublas/calls/cublas_abi.hpp"
#include "runtime/cublas/shim/real_library.hpp"

namespace {

/// What an older cuBLAS does not have.
int not_supported() { return tilesmith::cublas::kNotSupported; }

}  // namespace

void* tilesmith_cublas_resolve(std::size_t index) {
  using tilesmith::cublas::Library;
  void* target = tilesmith::cublas::real_symbol(Library::cublas, tilesmith_cublas_names[index]);
  if (target == nullptr) target = reinterpret_cast<void*>(&not_supported);
  __atomic_store_n(&tilesmith_cublas_targets[index], target, __ATOMIC_RELEASE);
  return target;
}
