#include "runtime/cublas/shim/cuda_driver.hpp"

#include <dlfcn.h>

namespace tilesmith::cublas {
namespace {

/// CUmemPoolProps: its first fields, then what is 0.
struct PoolProperties {
  int type = 1;          // pinned device memory
  int handle_types = 0;  // not shared
  int location_type = 1, location = 0;
  char rest[256] = {};
};
constexpr int kReleaseThreshold = 4;  // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD

const CudaDriver* load_driver() {
  void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  static CudaDriver driver{};
  bool complete = true;
#define TILESMITH_BIND(name, symbol, parameters)                                 \
  driver.name = reinterpret_cast<decltype(driver.name)>(dlsym(library, symbol)); \
  complete = complete && driver.name != nullptr;
  TILESMITH_CUDA_FUNCTIONS(TILESMITH_BIND)
#undef TILESMITH_BIND
  return complete ? &driver : nullptr;
}

/// Precondition: the thread has a context.
Reason look_at_context(const CudaDriver& driver, int& device) {
  void* context = nullptr;
  unsigned flags = 0;
  int active = 0;
  if (driver.ctx_get_current(&context) != 0 || driver.ctx_get_device(&device) != 0) return Reason::no_context;
  if (device < 0 || device > 255 || driver.primary_state(device, &flags, &active) != 0 || active == 0)
    return Reason::not_primary_context;
  void* primary = nullptr;
  if (driver.primary_retain(&primary, device) != 0) return Reason::not_primary_context;
  driver.primary_release(device);
  return primary == context ? Reason::none : Reason::not_primary_context;
}

struct SeenContext {
  unsigned long long id;
  Reason reason;
  std::uint8_t device;
  bool is_set;
};
[[gnu::tls_model("initial-exec")]] thread_local SeenContext last_seen{};

}  // namespace

const CudaDriver* cuda_driver() noexcept {
  static const CudaDriver* const loaded = load_driver();
  return loaded;
}

Reason device_of_thread(std::uint8_t& device) noexcept {
  const CudaDriver* const driver = cuda_driver();
  unsigned long long id = 0;
  if (driver == nullptr || driver->ctx_get_id(nullptr, &id) != 0) return Reason::no_context;
  SeenContext& seen = last_seen;
  if (!seen.is_set || seen.id != id) {
    int found = 0;
    const Reason reason = look_at_context(*driver, found);
    if (reason == Reason::no_context) return reason;
    seen = {id, reason, std::uint8_t(found), true};
  }
  device = seen.device;
  return seen.reason;
}

bool is_captured(Stream stream) noexcept {
  int status = 0;
  const CudaDriver* const driver = cuda_driver();
  return driver == nullptr || driver->stream_is_capturing(stream, &status) != 0 || status != 0;
}

void* new_memory_pool(int device) noexcept {
  const CudaDriver* const driver = cuda_driver();
  if (driver == nullptr) return nullptr;
  PoolProperties properties;
  properties.location = device;
  void* pool = nullptr;
  if (driver->pool_create(&pool, &properties) != 0) return nullptr;
  std::uint64_t keep = UINT64_MAX;
  driver->pool_set_attribute(pool, kReleaseThreshold, &keep);
  return pool;
}

StreamMemory::StreamMemory(void* pool, std::size_t bytes, Stream stream) noexcept : stream_(stream) {
  if (pool != nullptr && cuda_driver()->alloc_from_pool(&memory_, bytes, pool, stream) != 0) memory_ = 0;
}

StreamMemory::~StreamMemory() {
  if (memory_ != 0) cuda_driver()->free_async(memory_, stream_);
}

}  // namespace tilesmith::cublas
