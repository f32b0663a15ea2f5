/* The few CUDA driver calls that the examples make themselves, found in libcuda at run time, so that they build on a
 * machine without CUDA. An application would include <cuda.h> or <cuda_runtime.h> instead: Tilesmith takes its pointers
 * and streams as they are. Compiles as C99 and as C++. */
#ifndef EXAMPLE_CUDA_DRIVER_H
#define EXAMPLE_CUDA_DRIVER_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CUstream_st;
typedef uint64_t device_pointer; /* CUdeviceptr */

enum { CAPTURE_THREAD_LOCAL = 1 }; /* CU_STREAM_CAPTURE_MODE_THREAD_LOCAL */

/* Handles are void* here but for the stream, which Tilesmith takes. The names after the comma are those in libcuda. */
#define CUDA_DRIVER_CALLS(X)                                                             \
  X(init, cuInit, (unsigned flags))                                                      \
  X(device_get, cuDeviceGet, (int* device, int ordinal))                                 \
  X(primary_retain, cuDevicePrimaryCtxRetain, (void** context, int device))              \
  X(primary_release, cuDevicePrimaryCtxRelease_v2, (int device))                         \
  X(set_current, cuCtxSetCurrent, (void* context))                                       \
  X(mem_alloc, cuMemAlloc_v2, (device_pointer* pointer, size_t bytes))                   \
  X(mem_free, cuMemFree_v2, (device_pointer pointer))                                    \
  X(to_device, cuMemcpyHtoD_v2, (device_pointer to, const void* from, size_t bytes))     \
  X(to_host, cuMemcpyDtoH_v2, (void* to, device_pointer from, size_t bytes))             \
  X(fill, cuMemsetD8_v2, (device_pointer to, unsigned char byte, size_t bytes))          \
  X(synchronize, cuCtxSynchronize, (void))                                               \
  X(stream_create, cuStreamCreate, (struct CUstream_st** stream, unsigned flags))        \
  X(stream_destroy, cuStreamDestroy_v2, (struct CUstream_st* stream))                    \
  X(stream_synchronize, cuStreamSynchronize, (struct CUstream_st* stream))               \
  X(begin_capture, cuStreamBeginCapture_v2, (struct CUstream_st* stream, int mode))      \
  X(end_capture, cuStreamEndCapture, (struct CUstream_st* stream, void** graph))         \
  X(instantiate, cuGraphInstantiateWithFlags, (void** exec, void* graph, uint64_t flags)) \
  X(graph_launch, cuGraphLaunch, (void* exec, struct CUstream_st* stream))               \
  X(exec_destroy, cuGraphExecDestroy, (void* exec))                                      \
  X(graph_destroy, cuGraphDestroy, (void* graph))

struct cuda_driver {
#define DECLARE_CALL(name, symbol, parameters) int(*name) parameters;
  CUDA_DRIVER_CALLS(DECLARE_CALL)
#undef DECLARE_CALL
  int device;
};

/* Ends the program with status 2 and one line if a driver call failed. */
static void cuda_check(int result, const char* call) {
  if (result == 0) return;
  fprintf(stderr, "error: %s failed with CUresult %d\n", call, result);
  exit(2);
}
#define CUDA_CHECK(call) cuda_check((call), #call)

/* Opens libcuda and makes the device's primary context current, as the CUDA runtime API does. */
static struct cuda_driver cuda_open(int ordinal) {
  struct cuda_driver cuda;
  void* context = NULL;
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == NULL) {
    fprintf(stderr, "error: no NVIDIA driver: %s\n", dlerror());
    exit(2);
  }
  memset(&cuda, 0, sizeof cuda);
/* A void* becomes a function pointer by memcpy: ISO C has no cast for it. */
#define FIND_CALL(name, symbol, parameters)                                                      \
  {                                                                                              \
    void* found = dlsym(library, #symbol);                                                       \
    if (found == NULL) {                                                                         \
      fprintf(stderr, "error: libcuda has no %s: expected a driver of CUDA 12 or newer\n", #symbol); \
      exit(2);                                                                                   \
    }                                                                                            \
    memcpy(&cuda.name, &found, sizeof found);                                                    \
  }
  CUDA_DRIVER_CALLS(FIND_CALL)
#undef FIND_CALL
  CUDA_CHECK(cuda.init(0));
  CUDA_CHECK(cuda.device_get(&cuda.device, ordinal));
  CUDA_CHECK(cuda.primary_retain(&context, cuda.device));
  CUDA_CHECK(cuda.set_current(context));
  return cuda;
}

/* For Tilesmith's arguments. */
static void* device_address(device_pointer pointer) { return (void*)(uintptr_t)pointer; }

#endif
