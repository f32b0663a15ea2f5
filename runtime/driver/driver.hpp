// libcuda, opened at run time: one table of the driver functions that Tilesmith calls.
//
// Every function is asked for at version kOldestDriverVersion, so that its signature is the one written here, whatever
// header this is built against and however new the driver is. (cuCtxCreate, cuEventElapsedTime and several cuGraph
// functions have other signatures in later versions, and cuda.h renames them by macro: the table has names of its own.)
#pragma once

#include <cuda.h>

#include <string>

#include "runtime/driver/device_error.hpp"

namespace tilesmith::runtime {

/// The oldest CUDA version a driver must support: 12.0 (R525).
inline constexpr int kOldestDriverVersion = 12000;

// X(name in the table, name in libcuda, parameters)
// clang-format off
#define TILESMITH_DRIVER_FUNCTIONS(X)                                                                                  \
  X(init, "cuInit", (unsigned flags))                                                                                  \
  X(driver_get_version, "cuDriverGetVersion", (int* version))                                                          \
  X(get_error_name, "cuGetErrorName", (CUresult error, const char** text))                                             \
  X(get_error_string, "cuGetErrorString", (CUresult error, const char** text))                                         \
  X(device_get_count, "cuDeviceGetCount", (int* count))                                                                \
  X(device_get, "cuDeviceGet", (CUdevice * device, int ordinal))                                                       \
  X(device_get_name, "cuDeviceGetName", (char* name, int bytes, CUdevice device))                                      \
  X(device_total_mem, "cuDeviceTotalMem", (std::size_t * bytes, CUdevice device))                                      \
  X(device_get_attribute, "cuDeviceGetAttribute", (int* value, CUdevice_attribute what, CUdevice device))              \
  X(device_get_pci_bus_id, "cuDeviceGetPCIBusId", (char* text, int bytes, CUdevice device))                            \
  X(primary_ctx_retain, "cuDevicePrimaryCtxRetain", (CUcontext * context, CUdevice device))                            \
  X(primary_ctx_release, "cuDevicePrimaryCtxRelease", (CUdevice device))                                               \
  X(primary_ctx_get_state, "cuDevicePrimaryCtxGetState", (CUdevice device, unsigned* flags, int* active))              \
  X(ctx_set_current, "cuCtxSetCurrent", (CUcontext context))                                                           \
  X(ctx_get_current, "cuCtxGetCurrent", (CUcontext * context))                                                         \
  X(ctx_get_device, "cuCtxGetDevice", (CUdevice * device))                                                             \
  X(ctx_synchronize, "cuCtxSynchronize", ())                                                                           \
  X(mem_alloc, "cuMemAlloc", (CUdeviceptr * address, std::size_t bytes))                                               \
  X(mem_free, "cuMemFree", (CUdeviceptr address))                                                                      \
  X(mem_host_alloc, "cuMemHostAlloc", (void** memory, std::size_t bytes, unsigned flags))                              \
  X(mem_free_host, "cuMemFreeHost", (void* memory))                                                                    \
  X(mem_get_info, "cuMemGetInfo", (std::size_t * free_bytes, std::size_t * total_bytes))                               \
  X(memcpy_to_device, "cuMemcpyHtoD", (CUdeviceptr to, const void* from, std::size_t bytes))                           \
  X(memcpy_to_host, "cuMemcpyDtoH", (void* to, CUdeviceptr from, std::size_t bytes))                                   \
  X(memset_u8, "cuMemsetD8", (CUdeviceptr to, unsigned char byte, std::size_t bytes))                                  \
  X(memset_u8_async, "cuMemsetD8Async", (CUdeviceptr to, unsigned char byte, std::size_t bytes, CUstream stream))      \
  X(memcpy_2d_async, "cuMemcpy2DAsync", (const CUDA_MEMCPY2D* copy, CUstream stream))                                  \
  X(stream_create, "cuStreamCreate", (CUstream * stream, unsigned flags))                                              \
  X(stream_destroy, "cuStreamDestroy", (CUstream stream))                                                              \
  X(stream_synchronize, "cuStreamSynchronize", (CUstream stream))                                                      \
  X(stream_begin_capture, "cuStreamBeginCapture", (CUstream stream, CUstreamCaptureMode mode))                         \
  X(stream_end_capture, "cuStreamEndCapture", (CUstream stream, CUgraph * graph))                                      \
  X(stream_get_capture_info, "cuStreamGetCaptureInfo",                                                                 \
    (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* capture, CUgraph* graph, const CUgraphNode**          \
     dependencies, std::size_t* count))                                                                                \
  X(thread_exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", (CUstreamCaptureMode * mode))                   \
  X(event_create, "cuEventCreate", (CUevent * event, unsigned flags))                                                  \
  X(event_destroy, "cuEventDestroy", (CUevent event))                                                                  \
  X(event_record, "cuEventRecord", (CUevent event, CUstream stream))                                                   \
  X(event_synchronize, "cuEventSynchronize", (CUevent event))                                                          \
  X(event_elapsed_ms, "cuEventElapsedTime", (float* ms, CUevent start, CUevent end))                                   \
  X(graph_instantiate, "cuGraphInstantiateWithFlags", (CUgraphExec * exec, CUgraph graph, unsigned long long flags))   \
  X(graph_launch, "cuGraphLaunch", (CUgraphExec exec, CUstream stream))                                                \
  X(graph_destroy, "cuGraphDestroy", (CUgraph graph))                                                                  \
  X(graph_exec_destroy, "cuGraphExecDestroy", (CUgraphExec exec))                                                      \
  X(module_load, "cuModuleLoadDataEx",                                                                                 \
    (CUmodule * module, const void* image, unsigned count, CUjit_option* options, void** values))                      \
  X(module_unload, "cuModuleUnload", (CUmodule module))                                                                \
  X(module_get_function, "cuModuleGetFunction", (CUfunction * function, CUmodule module, const char* name))            \
  X(module_get_global, "cuModuleGetGlobal",                                                                            \
    (CUdeviceptr * address, std::size_t * bytes, CUmodule module, const char* name))                                   \
  X(func_get_attribute, "cuFuncGetAttribute", (int* value, CUfunction_attribute what, CUfunction function))            \
  X(func_set_attribute, "cuFuncSetAttribute", (CUfunction function, CUfunction_attribute what, int value))             \
  X(launch_kernel, "cuLaunchKernel",                                                                                   \
    (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,       \
     unsigned block_z, unsigned smem_bytes, CUstream stream, void** parameters, void** extra))                         \
  X(launch_kernel_ex, "cuLaunchKernelEx",                                                                              \
    (const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra))                              \
  X(occupancy_max_active_clusters, "cuOccupancyMaxActiveClusters",                                                     \
    (int* clusters, CUfunction function, const CUlaunchConfig* config))                                                \
  X(tensor_map_encode_tiled, "cuTensorMapEncodeTiled",                                                                 \
    (CUtensorMap * map, CUtensorMapDataType type, cuuint32_t rank, void* address, const cuuint64_t* sizes, const       \
     cuuint64_t* stride_bytes, const cuuint32_t* box_sizes, const cuuint32_t* element_steps, CUtensorMapInterleave     \
     interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill))          \
  X(tensor_map_replace_address, "cuTensorMapReplaceAddress", (CUtensorMap * map, void* address))
// clang-format on

struct Driver {
#define TILESMITH_DECLARE(name, symbol, parameters) CUresult(*name) parameters = nullptr;
  TILESMITH_DRIVER_FUNCTIONS(TILESMITH_DECLARE)
#undef TILESMITH_DECLARE
  int version = 0;  ///< what CUDA version the driver supports: 12040 for 12.4; 0: it does not tell
};

/// The table, after cuInit. Opened once; thread-safe. Throws DeviceError with driver_unavailable_because() if there is
/// no usable driver.
const Driver& driver();

/// The table, or nullptr where there is no usable driver. Never throws.
const Driver* driver_or_null() noexcept;

/// Empty if libcuda is there, new enough and initialized; else one line that says what is missing.
std::string driver_unavailable_because();

/// What CUDA version the installed driver supports: 12040; 0 if there is none. Initializes nothing, so that who only
/// compiles may ask, and knows of no ScopedDriver. Never throws.
int installed_cuda_version() noexcept;

/// "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (out of memory)". `call` may carry what it was about.
std::string describe(const Driver& driver, CUresult result, const std::string& call);

/// 0 if the driver does not tell.
int attribute_of(const Driver& driver, CUdevice device, CUdevice_attribute what) noexcept;

/// Throws DeviceError unless the call succeeded.
void check(CUresult result, const char* call);

/// For destructors: logs what went wrong, and never throws. What follows from a lost context or from the process ending
/// is no news.
void log_if_failed(CUresult result, const char* call) noexcept;

/// True if this CUresult means that the context is gone for good.
bool is_context_lost(int code) noexcept;

/// True if this CUresult is the device's word on a kernel, on its image or on what it asks for, so that another kernel
/// may run where this one never will. All others say something of the process or the moment.
bool is_of_kernel(int code) noexcept;

/// Puts another table in the place of libcuda's for as long as it lives: how the host side is tested without a device.
/// Not thread-safe. Objects made under it must be gone before it.
class [[nodiscard]] ScopedDriver {
 public:
  explicit ScopedDriver(const Driver& table);
  ~ScopedDriver();
  ScopedDriver(const ScopedDriver&) = delete;
  ScopedDriver& operator=(const ScopedDriver&) = delete;

 private:
  const Driver* former_;
};

}  // namespace tilesmith::runtime
