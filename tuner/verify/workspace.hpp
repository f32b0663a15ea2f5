// The candidates' workspace, with guards: filled with 0xff (NaN in every float format) before a run, so that a kernel
// that trusts stale contents is found out, and checked on both sides after it.
#pragma once

#include <cstdint>

#include "runtime/driver/device.hpp"
#include "tuner/verify/reference_kernels.hpp"

namespace tilesmith::tuner {

class GuardedWorkspace {
 public:
  /// The address to run with, 256-byte aligned; null if `bytes` is 0. Enqueues the fill.
  void* prepare(const ReferenceKernels& kernels, const runtime::Stream& stream, std::size_t bytes);

  /// Enqueues the check of the bytes around the region prepared last. Faults are reported under `case_index`.
  void check(const ReferenceKernels& kernels, const runtime::Stream& stream, std::uint64_t case_index,
      std::byte* report) const;

 private:
  runtime::DeviceBuffer buffer_;
  std::size_t bytes_ = 0;
};

}  // namespace tilesmith::tuner
