// NVIDIA's libraries, to which calls are forwarded: what the process has loaded, else what is found where the loader
// would look.
#pragma once

#include <atomic>
#include <string>

namespace tilesmith::cublas {

enum class Library { cublas, cublaslt };

/// The folder of the file that this code is in, with a slash at its end; "" where it is not known.
std::string own_folder();

/// Whether the real library is here. Where it is not, this shim was met by chance: a program's cuBLAS has no symbol
/// versions, or it asked for a name alone (dlsym with RTLD_DEFAULT).
bool has_real(Library library) noexcept;

/// A function of the real library, or if that is not here, the next definition in the process. Null: there is none
/// (said once).
void* real_symbol(Library library, const char* name) noexcept;

/// A function that is looked up when it is first wanted.
template <typename Function>
class RealFunction {
 public:
  constexpr RealFunction(Library library, const char* name) : library_(library), name_(name) {}
  Function* get() noexcept {
    Function* known = address_.load(std::memory_order_acquire);
    if (known == nullptr) {
      known = reinterpret_cast<Function*>(real_symbol(library_, name_));
      if (has_real(library_)) address_.store(known, std::memory_order_release);  // else it may be loaded later
    }
    return known;
  }

 private:
  Library library_;
  const char* name_;
  std::atomic<Function*> address_{nullptr};
};

}  // namespace tilesmith::cublas
