// The device kernels that make 2:4 sparse operands, compiled for an element type when it is first asked for.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "kernels/type_pair.hpp"
#include "runtime/driver/device.hpp"

namespace tilesmith::runtime {

/// As kernels/sparse/sparse.cu has it.
struct SparseMatrixArgs {
  const void* dense = nullptr;
  void* pruned = nullptr;
  void* stored = nullptr;
  void* metadata = nullptr;
  void* found = nullptr;
  long long rows = 0, k = 0, ld_dense = 0, ld_pruned = 0, ld_stored = 0;
};

/// Complete source text for NVRTC.
std::string sparse_source(Scalar element);

/// Thread-safe. The context must be current and outlive it.
class SparseKernels {
 public:
  /// Enqueues the kernel on so many items. Throws std::runtime_error if NVRTC is not there, DeviceError.
  void launch(const DeviceInfo& device, Scalar element, const char* entry, long long items, SparseMatrixArgs args, CUstream_st* stream);

 private:
  std::mutex mutex_;
  std::map<Scalar, Module> modules_;
};

}  // namespace tilesmith::runtime
