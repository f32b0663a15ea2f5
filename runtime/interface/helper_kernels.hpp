// Kernels beside products: they make and check operands. Compiled for the device when one is first asked for.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "runtime/driver/device.hpp"

struct CUstream_st;

namespace tilesmith::runtime {

class HelperKernels {
 public:
  /// Enqueues kernel `entry` of the source text. It walks `items` by the number of its threads, and takes `args`, its
  /// only argument. Throws tilesmith::Error (no_kernel) where it cannot be compiled, DeviceError. The context must be
  /// current. Thread-safe.
  void launch(const Context& context, bool can_compile, const std::string& source, const char* entry, long long items,
      void* args, CUstream_st* stream);
  /// While the context is current, before it goes.
  void clear() noexcept { modules_.clear(); }

 private:
  CUfunc_st* find(const Context& context, bool can_compile, const std::string& source, const char* entry);

  std::mutex mutex_;
  std::map<std::string, Module> modules_;  // by source text
};

}  // namespace tilesmith::runtime
