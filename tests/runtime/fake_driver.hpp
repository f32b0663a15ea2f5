// A driver table of plain functions that note what they are asked: the host side of the runtime, tested without a
// device.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/families/launch.hpp"
#include "runtime/driver/driver.hpp"

namespace tilesmith::runtime::fake {

struct LaunchRecord {
  CUfunction function = nullptr;
  Extent3 grid, block, cluster;
  unsigned smem_bytes = 0;
  CUstream stream = nullptr;
  GemmArgs args{};
  bool overlaps = false;  ///< may start while the launch before it ends
};

/// A tensor map as it was asked for; sizes in elements.
struct Map {
  void* address = nullptr;
  std::uint64_t cols = 0, rows = 0, row_bytes = 0;
  std::uint32_t box_cols = 0, box_rows = 0;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT8;
  std::uint64_t matrices = 0, matrix_bytes = 0;  ///< of maps with three coordinates: how many, and how far apart
  std::vector<std::uint64_t> sizes = {}, strides = {}, box = {};  ///< of all coordinates; strides in bytes
};

/// Of all streams; what is launched while it is active becomes a node, which the next launch comes behind.
struct Capture {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  std::vector<CUgraphNode> behind;
  std::uintptr_t nodes = 0;

  void add_node() { behind = {reinterpret_cast<CUgraphNode>(++nodes)}; }
};

struct State {
  std::vector<std::string> calls;  ///< those that tests look at, in order
  std::vector<LaunchRecord> launches;
  std::vector<Map> maps;
  std::vector<void*> addresses;  ///< that were put into maps
  std::vector<CUDA_MEMCPY2D> copies;
  std::map<int, int> attributes;  ///< of the device
  int active_clusters = 1;
  std::map<int, int> func_attributes{{CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024}};
  std::map<std::string, CUresult> failures;  ///< by the name in the table
  int devices = 1;
  int primary_holders = 0;  ///< of the primary context
  std::string missing_kernel;
  CUdeviceptr allocations = 0;      ///< each is at an address of its own
  std::size_t allocated_bytes = 0;  ///< by the last
  Capture capture;
  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;  ///< of the thread
  bool others_capture = false;   ///< another thread, in the global mode: a call that this forbids ends its capture
  bool thread_captures = false;  ///< the calling thread, likewise
};

inline State& state() {
  static State the_state;
  return the_state;
}

/// Notes the call; its result is success unless the test planned otherwise.
inline CUresult note(const std::string& call) {
  state().calls.push_back(call);
  const auto failure = state().failures.find(call);
  return failure != state().failures.end() ? failure->second : CUDA_SUCCESS;
}

/// Of a call that captures forbid.
inline CUresult note_unsafe(const std::string& call) {
  const CUresult result = note(call);
  State& now = state();
  const bool others = now.others_capture && now.capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
  const bool own = now.thread_captures && now.capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED;
  if (others) now.others_capture = false;
  if (own) now.thread_captures = false;
  return others || own ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : result;
}

inline std::size_t count(const std::string& call) {
  std::size_t found = 0;
  for (const std::string& one : state().calls) found += one == call ? 1 : 0;
  return found;
}

template <typename Handle>
CUresult make(const char* call, Handle* handle) {
  const CUresult result = note(call);
  if (result == CUDA_SUCCESS) *handle = reinterpret_cast<Handle>(0x1000);
  return result;
}

inline CUresult launch(const LaunchRecord& record, void** parameters, const char* call) {
  state().launches.push_back(record);
  std::memcpy(&state().launches.back().args, parameters[0], sizeof(GemmArgs));
  if (state().capture.status == CU_STREAM_CAPTURE_STATUS_ACTIVE) state().capture.add_node();
  return note(call);
}

// clang-format off: one line a function
inline Driver table() {
  Driver t;
  t.version = 12040;
  t.driver_get_version = [](int* v) {
    *v = 12040;
    return CUDA_SUCCESS;
  };
  t.get_error_name = [](CUresult, const char** text) {
    *text = "CUDA_ERROR_PLANNED";
    return CUDA_SUCCESS;
  };
  t.get_error_string = [](CUresult, const char** text) {
    *text = "as the test wants";
    return CUDA_SUCCESS;
  };
  t.device_get_count = [](int* n) {
    *n = state().devices;
    return note("device_get_count");
  };
  t.device_get = [](CUdevice* d, int ordinal) {
    *d = ordinal;
    return CUDA_SUCCESS;
  };
  t.device_get_name = [](char* text, int bytes, CUdevice) {
    std::strncpy(text, "NVIDIA Fake", std::size_t(bytes));
    return CUDA_SUCCESS;
  };
  t.device_total_mem = [](std::size_t* bytes, CUdevice) {
    *bytes = std::size_t{1} << 37;
    return CUDA_SUCCESS;
  };
  t.device_get_attribute = [](int* value, CUdevice_attribute what, CUdevice) {
    *value = state().attributes[int(what)];
    return CUDA_SUCCESS;
  };
  t.device_get_pci_bus_id = [](char* text, int, CUdevice) {
    text[0] = '\0';
    return CUDA_SUCCESS;
  };
  t.primary_ctx_retain = [](CUcontext* c, CUdevice) {
    ++state().primary_holders;
    return make("primary_ctx_retain", c);
  };
  t.primary_ctx_release = [](CUdevice) {
    --state().primary_holders;
    return note("primary_ctx_release");
  };
  t.primary_ctx_get_state = [](CUdevice, unsigned* flags, int* active) {
    *flags = 0;
    *active = state().primary_holders > 0 ? 1 : 0;
    return note("primary_ctx_get_state");
  };
  t.ctx_get_device = [](CUdevice* d) {
    *d = 0;
    return note("ctx_get_device");
  };
  t.ctx_set_current = [](CUcontext) { return note("ctx_set_current"); };
  t.ctx_synchronize = [] { return note("ctx_synchronize"); };
  t.mem_alloc = [](CUdeviceptr* p, std::size_t bytes) {
    *p = 0x100000 * ++state().allocations;
    state().allocated_bytes = bytes;
    return note_unsafe("mem_alloc");
  };
  t.mem_free = [](CUdeviceptr) { return note_unsafe("mem_free"); };
  t.mem_host_alloc = [](void** memory, std::size_t, unsigned) {
    static int word;
    *memory = &word;
    return note_unsafe("mem_host_alloc");
  };
  t.mem_free_host = [](void*) { return note_unsafe("mem_free_host"); };
  t.memcpy_to_device = [](CUdeviceptr, const void*, std::size_t) { return note("memcpy_to_device"); };
  t.memcpy_to_host = [](void*, CUdeviceptr, std::size_t) { return note("memcpy_to_host"); };
  t.memset_u8 = [](CUdeviceptr, unsigned char, std::size_t) { return note("memset_u8"); };
  t.memcpy_2d_async = [](const CUDA_MEMCPY2D* copy, CUstream) {
    state().copies.push_back(*copy);
    return note("memcpy_2d_async");
  };
  t.memset_u8_async = [](CUdeviceptr, unsigned char, std::size_t, CUstream) { return note("memset_u8_async"); };
  t.stream_create = [](CUstream* s, unsigned) { return make("stream_create", s); };
  t.stream_destroy = [](CUstream) { return note("stream_destroy"); };
  t.stream_synchronize = [](CUstream) { return note("stream_synchronize"); };
  t.stream_begin_capture = [](CUstream, CUstreamCaptureMode) { return note("stream_begin_capture"); };
  t.stream_end_capture = [](CUstream, CUgraph* g) { return make("stream_end_capture", g); };
  t.stream_get_capture_info = [](CUstream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph*,
                                  const CUgraphNode** nodes, std::size_t* count) {
    const Capture& capture = state().capture;
    *status = capture.status;
    *id = capture.id;
    *nodes = capture.behind.data();
    *count = capture.behind.size();
    return note("stream_get_capture_info");
  };
  t.thread_exchange_capture_mode = [](CUstreamCaptureMode* mode) {
    std::swap(*mode, state().capture_mode);
    return CUDA_SUCCESS;
  };
  t.event_create = [](CUevent* e, unsigned) { return make("event_create", e); };
  t.event_destroy = [](CUevent) { return note("event_destroy"); };
  t.event_record = [](CUevent, CUstream) { return note("event_record"); };
  t.event_synchronize = [](CUevent) { return note("event_synchronize"); };
  t.event_elapsed_ms = [](float* ms, CUevent, CUevent) {
    *ms = 0.5F;
    return note("event_elapsed_ms");
  };
  t.graph_instantiate = [](CUgraphExec* e, CUgraph, unsigned long long) { return make("graph_instantiate", e); };
  t.graph_launch = [](CUgraphExec, CUstream) { return note("graph_launch"); };
  t.graph_destroy = [](CUgraph) { return note("graph_destroy"); };
  t.graph_exec_destroy = [](CUgraphExec) { return note("graph_exec_destroy"); };
  t.module_load = [](CUmodule* m, const void*, unsigned, CUjit_option*, void**) {
    *m = reinterpret_cast<CUmodule>(0x1000);
    return note_unsafe("module_load");
  };
  t.module_unload = [](CUmodule) { return note_unsafe("module_unload"); };
  t.module_get_function = [](CUfunction* f, CUmodule, const char* name) {
    if (name == state().missing_kernel) return CUDA_ERROR_NOT_FOUND;
    return make("module_get_function", f);
  };
  t.func_get_attribute = [](int* value, CUfunction_attribute what, CUfunction) {
    *value = state().func_attributes[int(what)];
    return CUDA_SUCCESS;
  };
  t.func_set_attribute = [](CUfunction, CUfunction_attribute what, int value) {
    const CUresult result = note("func_set_attribute " + std::to_string(int(what)));
    if (result == CUDA_SUCCESS) state().func_attributes[int(what)] = value;
    return result;
  };
  t.launch_kernel = [](CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned smem_bytes, CUstream s, void** parameters, void**) {
    return launch({f, {gx, gy, gz}, {bx, by, bz}, {}, smem_bytes, s, {}}, parameters, "launch_kernel");
  };
  t.occupancy_max_active_clusters = [](int* clusters, CUfunction, const CUlaunchConfig* config) {
    for (unsigned i = 0; i < config->numAttrs; ++i) {
      if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) *clusters = state().active_clusters;
    }
    return note("occupancy_max_active_clusters");
  };
  t.tensor_map_encode_tiled = [](CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                  const cuuint64_t* sizes, const cuuint64_t* stride_bytes, const cuuint32_t* box_sizes,
                                  const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle swizzle,
                                  CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
    *map = {};
    state().maps.push_back({address, sizes[0], sizes[1], stride_bytes[0], box_sizes[0], box_sizes[1], swizzle, type,
        rank == 3 ? sizes[2] : 0, rank == 3 ? stride_bytes[1] : 0, {sizes, sizes + rank},
        {stride_bytes, stride_bytes + rank - 1}, {box_sizes, box_sizes + rank}});
    return note("tensor_map_encode_tiled");
  };
  t.tensor_map_replace_address = [](CUtensorMap*, void* address) {
    state().addresses.push_back(address);
    return note("tensor_map_replace_address");
  };
  t.launch_kernel_ex = [](const CUlaunchConfig* c, CUfunction f, void** parameters, void**) {
    LaunchRecord record{f, {c->gridDimX, c->gridDimY, c->gridDimZ}, {c->blockDimX, c->blockDimY, c->blockDimZ}, {},
        c->sharedMemBytes, c->hStream, {}};
    for (unsigned i = 0; i < c->numAttrs; ++i) {
      const CUlaunchAttribute& attribute = c->attrs[i];
      const auto& cluster = attribute.value.clusterDim;
      if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) record.cluster = {cluster.x, cluster.y, cluster.z};
      if (attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
        record.overlaps = attribute.value.programmaticStreamSerializationAllowed != 0;
      }
    }
    return launch(record, parameters, "launch_kernel_ex");
  };
  return t;
}
// clang-format on

/// In force as long as it lives; starts from a fresh state.
class [[nodiscard]] FakeDriver {
 public:
  FakeDriver() : table_(table()), scoped_(table_) { state() = State(); }

 private:
  Driver table_;
  ScopedDriver scoped_;
};

}  // namespace tilesmith::runtime::fake
