// A libcuda.so.1 whose device memory is the host's. One context, of device 0, unless a test says otherwise.
#include <atomic>
#include <cstdlib>
#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {
thread_local int context = 1;  // 0: none; 1: the primary one; 2: one of the application's own
std::atomic<int> from_pool{0};
}  // namespace

EXPORT void stand_in_set_context(int of) { context = of; }
EXPORT int stand_in_pool_allocations() { return from_pool; }

EXPORT int cuCtxGetId(void*, unsigned long long* id) {
  return *id = (unsigned long long)context, context == 0 ? 201 : 0;
}
EXPORT int cuCtxGetCurrent(void** current) { return *current = (void*)(std::size_t)context, 0; }
EXPORT int cuCtxGetDevice(int* device) { return *device = 0, 0; }
EXPORT int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) { return *flags = 0, *active = 1, 0; }
EXPORT int cuDevicePrimaryCtxRetain(void** primary, int) { return *primary = (void*)1, 0; }
EXPORT int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
EXPORT int cuStreamIsCapturing(void* stream, int* status) { return *status = stream == (void*)0x77, 0; }
EXPORT int cuStreamSynchronize(void*) { return 0; }
EXPORT int cuMemPoolCreate(void** pool, const void*) { return *pool = (void*)0x99, 0; }
EXPORT int cuMemPoolSetAttribute(void*, int, void*) { return 0; }
EXPORT int cuMemAlloc_v2(unsigned long long* memory, std::size_t bytes) {
  return *memory = (unsigned long long)std::aligned_alloc(256, (bytes + 255) / 256 * 256), 0;
}
EXPORT int cuMemFree_v2(unsigned long long memory) { return std::free((void*)memory), 0; }
EXPORT int cuMemAllocFromPoolAsync(unsigned long long* memory, std::size_t bytes, void*, void*) {
  return ++from_pool, cuMemAlloc_v2(memory, bytes);
}
EXPORT int cuMemFreeAsync(unsigned long long memory, void*) { return cuMemFree_v2(memory); }
EXPORT int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, std::size_t bytes, void*) {
  return std::memcpy((void*)to, (const void*)from, bytes), 0;
}
EXPORT int cuMemcpyDtoH_v2(void* to, unsigned long long from, std::size_t bytes) {
  return std::memcpy(to, (const void*)from, bytes), 0;
}
