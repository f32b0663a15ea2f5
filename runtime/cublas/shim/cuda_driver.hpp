// The few functions of the CUDA driver that the shim calls, found in the libcuda that is there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/cublas/calls/cublas_abi.hpp"
#include "runtime/cublas/calls/reason.hpp"

namespace tilesmith::cublas {

struct CudaDriver {
  using Address = unsigned long long;  // CUdeviceptr
  int (*ctx_get_id)(void* context, unsigned long long* id);
  int (*ctx_get_current)(void** context);
  int (*ctx_get_device)(int* device);
  int (*primary_state)(int device, unsigned* flags, int* active);
  int (*primary_retain)(void** context, int device);
  int (*primary_release)(int device);
  int (*stream_is_capturing)(Stream stream, int* status);
  int (*stream_synchronize)(Stream stream);
  int (*pool_create)(void** pool, const void* properties);
  int (*pool_set_attribute)(void* pool, int attribute, void* value);
  int (*alloc_from_pool)(Address* memory, std::size_t bytes, void* pool, Stream stream);
  int (*free_async)(Address memory, Stream stream);
  int (*alloc)(Address* memory, std::size_t bytes);
  int (*free)(Address memory);
  int (*copy_within)(Address to, Address from, std::size_t bytes, Stream stream);  // cuMemcpyDtoDAsync
  int (*copy_to_host)(void* to, Address from, std::size_t bytes);
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
  CudaDriver::Address memory_ = 0;
  Stream stream_;
};

}  // namespace tilesmith::cublas
