// The few functions of the CUDA driver that the shim calls, found in the libcuda that is there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/cublas/calls/cublas_abi.hpp"
#include "runtime/cublas/calls/reason.hpp"

namespace tilesmith::cublas {

using CudaAddress = unsigned long long;  // CUdeviceptr

// clang-format off
// X(name, name in libcuda, parameters)
#define TILESMITH_CUDA_FUNCTIONS(X)                                                                                    \
  X(ctx_get_id, "cuCtxGetId", (void* context, unsigned long long* id))                                                 \
  X(ctx_get_current, "cuCtxGetCurrent", (void** context))                                                              \
  X(ctx_get_device, "cuCtxGetDevice", (int* device))                                                                   \
  X(primary_state, "cuDevicePrimaryCtxGetState", (int device, unsigned* flags, int* active))                           \
  X(primary_retain, "cuDevicePrimaryCtxRetain", (void** context, int device))                                          \
  X(primary_release, "cuDevicePrimaryCtxRelease_v2", (int device))                                                     \
  X(stream_is_capturing, "cuStreamIsCapturing", (Stream stream, int* status))                                          \
  X(stream_synchronize, "cuStreamSynchronize", (Stream stream))                                                        \
  X(pool_create, "cuMemPoolCreate", (void** pool, const void* properties))                                             \
  X(pool_set_attribute, "cuMemPoolSetAttribute", (void* pool, int attribute, void* value))                             \
  X(alloc_from_pool, "cuMemAllocFromPoolAsync", (CudaAddress* memory, std::size_t bytes, void* pool, Stream stream))   \
  X(free_async, "cuMemFreeAsync", (CudaAddress memory, Stream stream))                                                 \
  X(alloc, "cuMemAlloc_v2", (CudaAddress* memory, std::size_t bytes))                                                  \
  X(free, "cuMemFree_v2", (CudaAddress memory))                                                                        \
  X(copy_within, "cuMemcpyDtoDAsync_v2", (CudaAddress to, CudaAddress from, std::size_t bytes, Stream stream))         \
  X(copy_to_host, "cuMemcpyDtoH_v2", (void* to, CudaAddress from, std::size_t bytes))
// clang-format on

struct CudaDriver {
#define TILESMITH_DECLARE(name, symbol, parameters) int(*name) parameters;
  TILESMITH_CUDA_FUNCTIONS(TILESMITH_DECLARE)
#undef TILESMITH_DECLARE
};

/// Null where there is no driver, or one without these functions.
const CudaDriver* cuda_driver() noexcept;

/// The device whose primary context is the calling thread's. Reason::none, or why there is none.
Reason device_of_thread(std::uint8_t& device) noexcept;

/// Whether a stream is being captured, or that cannot be told.
bool is_captured(Stream stream) noexcept;

/// A pool of device memory of our own, which keeps what is given back. Null: the device has none.
void* new_memory_pool(int device) noexcept;

/// Device memory for the launches that follow in a stream; given back behind them. May be without memory.
class StreamMemory {
 public:
  StreamMemory(void* pool, std::size_t bytes, Stream stream) noexcept;
  ~StreamMemory();
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;
  void* get() const noexcept { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(memory_)); }

 private:
  CudaAddress memory_ = 0;
  Stream stream_;
};

}  // namespace tilesmith::cublas
