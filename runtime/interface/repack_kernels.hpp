// The repacking of weights on the device: its kernels, compiled at the first call.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "kernels/weights/repack.cuh"
#include "runtime/driver/device.hpp"

struct CUstream_st;

namespace tilesmith::runtime {

class RepackKernels {
 public:
  /// Enqueues all of it. Where something has to be looked at before, waits for the stream. Throws tilesmith::Error, DeviceError. The context
  /// must be current. May be called by several threads at a time.
  void run(const Context& context, bool may_compile, CUstream_st* stream, RepackArgs args);
  /// While the context is current, before it goes.
  void clear() noexcept { module_.reset(); }
  /// The source of all its kernels.
  static std::string source();

 private:
  CUfunc_st* kernel(const Context& context, bool may_compile, const char* entry);

  std::mutex mutex_;
  std::optional<Module> module_;
};

}  // namespace tilesmith::runtime
