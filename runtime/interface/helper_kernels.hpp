// Kernels beside products: they make and check operands. Loaded from the cache on disk or compiled for the device when
// one is first asked for.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "runtime/compile/kernel_cache.hpp"
#include "runtime/driver/device.hpp"

struct CUstream_st;

namespace tilesmith::runtime {

class HelperKernels {
 public:
  /// The cache must outlive it.
  explicit HelperKernels(KernelCache& cache) : cache_(cache) {}
  /// Enqueues kernel `entry` of the source text. It walks `items` by the number of its threads, and takes `args`, its
  /// only argument. Throws tilesmith::Error (no_kernel) where it cannot be compiled, DeviceError. The context must be
  /// current. Thread-safe.
  void launch(const Context& context, bool can_compile, const std::string& source, const char* entry, long long items,
      void* args, CUstream_st* stream);
  /// While the context is current, before it goes.
  void clear() noexcept { modules_.clear(); }

 private:
  Module load(const Context& context, bool can_compile, const std::string& source, const char* entry) const;
  CUfunc_st* find(const Context& context, bool can_compile, const std::string& source, const char* entry);

  KernelCache& cache_;
  std::mutex mutex_;
  std::map<std::string, Module> modules_;  // by source text
};

}  // namespace tilesmith::runtime
