// NVIDIA's libraries, to which calls are forwarded: what the process has loaded, else what is found where the loader would look.
#pragma once

#include <atomic>

namespace tilesmith::cublas {

enum class Library { cublas, cublaslt };

/// A function of the real library; null if it has none, or is not found (told once).
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
      address_.store(known, std::memory_order_release);
    }
    return known;
  }

 private:
  Library library_;
  const char* name_;
  std::atomic<Function*> address_{nullptr};
};

}  // namespace tilesmith::cublas
