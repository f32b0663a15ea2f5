// libcuda, opened at run time: one table of the driver functions that Tilesmith calls.
//
// Every function is asked for at the CUDA version given here, so that its signature is the one written here, whatever
// header this is built against and however new the driver is. (cuCtxCreate, cuEventElapsedTime and several cuGraph
// functions have other signatures in later versions, and cuda.h renames them by macro: the table has names of its own.)
#pragma once

#include <cuda.h>

#include <string>

#include "runtime/driver/device_error.hpp"

namespace tilesmith::runtime {

/// The oldest CUDA version a driver must support: 12.0 (R525).
inline constexpr int kOldestDriverVersion = 12000;

// X(name in the table, name in libcuda, version asked for, parameters)
// clang-format off
#define TILESMITH_DRIVER_FUNCTIONS(X)                                                                                \
  X(init, "cuInit", 12000, (unsigned flags))                                                                         \
  X(driver_get_version, "cuDriverGetVersion", 12000, (int* version))                                                 \
  X(get_error_name, "cuGetErrorName", 12000, (CUresult error, const char** text))                                    \
  X(get_error_string, "cuGetErrorString", 12000, (CUresult error, const char** text))                                \
  X(device_get_count, "cuDeviceGetCount", 12000, (int* count))                                                       \
  X(device_get, "cuDeviceGet", 12000, (CUdevice * device, int ordinal))                                              \
  X(device_get_name, "cuDeviceGetName", 12000, (char* name, int bytes, CUdevice device))                             \
  X(device_total_mem, "cuDeviceTotalMem", 12000, (std::size_t * bytes, CUdevice device))                             \
  X(device_get_attribute, "cuDeviceGetAttribute", 12000, (int* value, CUdevice_attribute what, CUdevice device))     \
  X(device_get_pci_bus_id, "cuDeviceGetPCIBusId", 12000, (char* text, int bytes, CUdevice device))                   \
  X(primary_ctx_retain, "cuDevicePrimaryCtxRetain", 12000, (CUcontext * context, CUdevice device))                   \
  X(primary_ctx_release, "cuDevicePrimaryCtxRelease", 12000, (CUdevice device))                                      \
  X(primary_ctx_get_state, "cuDevicePrimaryCtxGetState", 12000, (CUdevice device, unsigned* flags, int* active))     \
  X(ctx_set_current, "cuCtxSetCurrent", 12000, (CUcontext context))                                                  \
  X(ctx_get_current, "cuCtxGetCurrent", 12000, (CUcontext * context))                                                \
  X(ctx_get_device, "cuCtxGetDevice", 12000, (CUdevice * device))                                                    \
  X(ctx_synchronize, "cuCtxSynchronize", 12000, ())                                                                  \
  X(mem_alloc, "cuMemAlloc", 12000, (CUdeviceptr * address, std::size_t bytes))                                      \
  X(mem_free, "cuMemFree", 12000, (CUdeviceptr address))                                                             \
  X(mem_host_alloc, "cuMemHostAlloc", 12000, (void** memory, std::size_t bytes, unsigned flags))                     \
  X(mem_free_host, "cuMemFreeHost", 12000, (void* memory))                                                           \
  X(mem_get_info, "cuMemGetInfo", 12000, (std::size_t * free_bytes, std::size_t * total_bytes))                      \
  X(memcpy_to_device, "cuMemcpyHtoD", 12000, (CUdeviceptr to, const void* from, std::size_t bytes))                  \
  X(memcpy_to_host, "cuMemcpyDtoH", 12000, (void* to, CUdeviceptr from, std::size_t bytes))                          \
  X(memset_u8, "cuMemsetD8", 12000, (CUdeviceptr to, unsigned char byte, std::size_t bytes))                         \
  X(memset_u8_async, "cuMemsetD8Async", 12000, (CUdeviceptr to, unsigned char byte, std::size_t bytes, CUstream stream)) \
  X(memcpy_2d_async, "cuMemcpy2DAsync", 12000, (const CUDA_MEMCPY2D* copy, CUstream stream))                         \
  X(stream_create, "cuStreamCreate", 12000, (CUstream * stream, unsigned flags))                                     \
  X(stream_destroy, "cuStreamDestroy", 12000, (CUstream stream))                                                     \
  X(stream_synchronize, "cuStreamSynchronize", 12000, (CUstream stream))                                             \
  X(stream_begin_capture, "cuStreamBeginCapture", 12000, (CUstream stream, CUstreamCaptureMode mode))                \
  X(stream_end_capture, "cuStreamEndCapture", 12000, (CUstream stream, CUgraph * graph))                             \
  X(stream_get_capture_info, "cuStreamGetCaptureInfo", 12000,                                                        \
    (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* capture, CUgraph* graph,                            \
     const CUgraphNode** dependencies, std::size_t* count))                                                          \
  X(thread_exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", 12000, (CUstreamCaptureMode * mode))           \
  X(event_create, "cuEventCreate", 12000, (CUevent * event, unsigned flags))                                         \
  X(event_destroy, "cuEventDestroy", 12000, (CUevent event))                                                         \
  X(event_record, "cuEventRecord", 12000, (CUevent event, CUstream stream))                                          \
  X(event_synchronize, "cuEventSynchronize", 12000, (CUevent event))                                                 \
  X(event_elapsed_ms, "cuEventElapsedTime", 12000, (float* ms, CUevent start, CUevent end))                          \
  X(graph_instantiate, "cuGraphInstantiateWithFlags", 12000,                                                         \
    (CUgraphExec * exec, CUgraph graph, unsigned long long flags))                                                   \
  X(graph_launch, "cuGraphLaunch", 12000, (CUgraphExec exec, CUstream stream))                                       \
  X(graph_destroy, "cuGraphDestroy", 12000, (CUgraph graph))                                                         \
  X(graph_exec_destroy, "cuGraphExecDestroy", 12000, (CUgraphExec exec))                                             \
  X(module_load, "cuModuleLoadDataEx", 12000,                                                                        \
    (CUmodule * module, const void* image, unsigned count, CUjit_option* options, void** values))                    \
  X(module_unload, "cuModuleUnload", 12000, (CUmodule module))                                                       \
  X(module_get_function, "cuModuleGetFunction", 12000, (CUfunction * function, CUmodule module, const char* name))   \
  X(func_get_attribute, "cuFuncGetAttribute", 12000, (int* value, CUfunction_attribute what, CUfunction function))   \
  X(func_set_attribute, "cuFuncSetAttribute", 12000, (CUfunction function, CUfunction_attribute what, int value))    \
  X(launch_kernel, "cuLaunchKernel", 12000,                                                                          \
    (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,     \
     unsigned block_z, unsigned smem_bytes, CUstream stream, void** parameters, void** extra))                       \
  X(launch_kernel_ex, "cuLaunchKernelEx", 12000,                                                                     \
    (const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra))                            \
  X(occupancy_max_active_clusters, "cuOccupancyMaxActiveClusters", 12000,                                            \
    (int* clusters, CUfunction function, const CUlaunchConfig* config))                                              \
  X(tensor_map_encode_tiled, "cuTensorMapEncodeTiled", 12000,                                                        \
    (CUtensorMap * map, CUtensorMapDataType type, cuuint32_t rank, void* address, const cuuint64_t* sizes,           \
     const cuuint64_t* stride_bytes, const cuuint32_t* box_sizes, const cuuint32_t* element_steps,                   \
     CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,                 \
     CUtensorMapFloatOOBfill fill))                                                                                  \
  X(tensor_map_replace_address, "cuTensorMapReplaceAddress", 12000, (CUtensorMap * map, void* address))
// clang-format on

struct Driver {
#define TILESMITH_DECLARE(name, symbol, version, parameters) CUresult(*name) parameters = nullptr;
  TILESMITH_DRIVER_FUNCTIONS(TILESMITH_DECLARE)
#undef TILESMITH_DECLARE
  int version = 0;  ///< what CUDA version the driver supports: 12040 for 12.4; 0: it does not tell
};

/// The table, after cuInit. Opened once; thread-safe. Throws DeviceError with driver_unavailable_because() if there is no
/// usable driver.
const Driver& driver();

/// The table, or nullptr where there is no usable driver. Never throws.
const Driver* driver_or_null() noexcept;

/// Empty if libcuda is there, new enough and initialized; else one line that says what is missing.
std::string driver_unavailable_because();

/// What CUDA version the installed driver supports: 12040; 0 if there is none. Initializes nothing, so that who only compiles may
/// ask, and knows of no ScopedDriver. Never throws.
int installed_cuda_version() noexcept;

/// "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (out of memory)". `call` may carry what it was about.
std::string describe(const Driver& driver, CUresult result, const std::string& call);

/// Throws DeviceError unless the call succeeded.
void check(CUresult result, const char* call);

/// For destructors: logs what went wrong, and never throws. What follows from a lost context or from the process ending
/// is no news.
void log_if_failed(CUresult result, const char* call) noexcept;

/// True if this CUresult means that the context is gone for good.
bool is_context_lost(int code) noexcept;

/// True if this CUresult is the device's word on a kernel, on its image or on what it asks for, so that another kernel may run where
/// this one never will. All others say something of the process or the moment.
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
