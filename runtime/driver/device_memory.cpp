// Device memory, streams, events and graphs.
#include <fmt/format.h>

#include "runtime/driver/device.hpp"
#include "runtime/driver/driver.hpp"

namespace tilesmith::runtime {
namespace {

CUdeviceptr address(const std::byte* data) { return reinterpret_cast<CUdeviceptr>(data); }

template <typename Handle>
void release(CUresult (*Driver::*function)(Handle), Handle handle, const char* call) noexcept {
  if (const Driver* table = driver_or_null()) log_if_failed((table->*function)(handle), call);
}

void check_range(std::size_t offset_bytes, std::size_t bytes, std::size_t size_bytes, const char* call) {
  if (offset_bytes <= size_bytes && bytes <= size_bytes - offset_bytes) return;
  throw DeviceError(CUDA_ERROR_INVALID_VALUE,
      fmt::format("{}: {} bytes at offset {} are beyond the buffer's {}", call, bytes, offset_bytes, size_bytes));
}

/// Copies from pageable memory and fills may return before the device is done with them, and kernels on other streams
/// would overtake them.
void wait_for_null_stream() { check(driver().stream_synchronize(nullptr), "cuStreamSynchronize"); }

}  // namespace

void Release::operator()(std::byte* memory) const noexcept { release(&Driver::mem_free, address(memory), "cuMemFree"); }
void Release::operator()(int* memory) const noexcept {
  release(&Driver::mem_free_host, static_cast<void*>(memory), "cuMemFreeHost");
}
void Release::operator()(CUstream_st* stream) const noexcept {
  release(&Driver::stream_destroy, stream, "cuStreamDestroy");
}
void Release::operator()(CUevent_st* event) const noexcept { release(&Driver::event_destroy, event, "cuEventDestroy"); }
void Release::operator()(CUgraph_st* graph) const noexcept { release(&Driver::graph_destroy, graph, "cuGraphDestroy"); }
void Release::operator()(CUgraphExec_st* exec) const noexcept {
  release(&Driver::graph_exec_destroy, exec, "cuGraphExecDestroy");
}
void Release::operator()(CUmod_st* module) const noexcept { release(&Driver::module_unload, module, "cuModuleUnload"); }

DeviceBuffer::DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  CUdeviceptr pointer = 0;
  const Driver& table = driver();
  if (const CUresult result = table.mem_alloc(&pointer, bytes); result != CUDA_SUCCESS) {
    throw DeviceError(result, describe(table, result, fmt::format("cuMemAlloc of {} bytes", bytes)));
  }
  data_.reset(reinterpret_cast<std::byte*>(pointer));
}

SharedWord::SharedWord() {
  void* memory = nullptr;
  check(driver().mem_host_alloc(&memory, sizeof(int), CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
      "cuMemHostAlloc");
  word_.reset(static_cast<int*>(memory));
  *word_ = 0;
}

void DeviceBuffer::upload(std::span<const std::byte> host, std::size_t offset_bytes) {
  check_range(offset_bytes, host.size(), size(), "upload");
  if (host.empty()) return;
  check(driver().memcpy_to_device(address(data()) + offset_bytes, host.data(), host.size()), "cuMemcpyHtoD");
  wait_for_null_stream();
}

void DeviceBuffer::download(std::span<std::byte> host, std::size_t offset_bytes) const {
  check_range(offset_bytes, host.size(), size(), "download");
  if (host.empty()) return;
  check(driver().memcpy_to_host(host.data(), address(data()) + offset_bytes, host.size()), "cuMemcpyDtoH");
}

void DeviceBuffer::fill(unsigned char byte) {
  if (size() == 0) return;
  check(driver().memset_u8(address(data()), byte, bytes_), "cuMemsetD8");
  wait_for_null_stream();
}

// Ordered with the null stream, so that a download sees what was launched before it.
Stream::Stream() {
  CUstream stream = nullptr;
  check(driver().stream_create(&stream, CU_STREAM_DEFAULT), "cuStreamCreate");
  stream_.reset(stream);
}

void Stream::synchronize() const { check(driver().stream_synchronize(get()), "cuStreamSynchronize"); }

Event::Event() {
  CUevent event = nullptr;
  check(driver().event_create(&event, CU_EVENT_DEFAULT), "cuEventCreate");
  event_.reset(event);
}

void Event::record(const Stream& stream) { check(driver().event_record(event_.get(), stream.get()), "cuEventRecord"); }

void Event::synchronize() const { check(driver().event_synchronize(event_.get()), "cuEventSynchronize"); }

double Event::elapsed_us_since(const Event& start) const {
  float ms = 0;
  check(driver().event_elapsed_ms(&ms, start.event_.get(), event_.get()), "cuEventElapsedTime");
  return double(ms) * 1e3;
}

void Graph::launch(const Stream& stream) const {
  check(driver().graph_launch(exec_.get(), stream.get()), "cuGraphLaunch");
}

void Graph::begin_capture(const Stream& stream) {
  // Thread-local: other threads may allocate and synchronize meanwhile.
  check(driver().stream_begin_capture(stream.get(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "cuStreamBeginCapture");
}

void Graph::abandon_capture(const Stream& stream) noexcept {
  const Driver* table = driver_or_null();
  if (table == nullptr) return;
  CUgraph graph = nullptr;
  table->stream_end_capture(stream.get(), &graph);  // fails if the capture is invalid already, and ends it all the same
  const Owned<CUgraph_st> abandoned(graph);
}

Graph Graph::end_capture(const Stream& stream) {
  CUgraph captured = nullptr;
  check(driver().stream_end_capture(stream.get(), &captured), "cuStreamEndCapture");
  const Owned<CUgraph_st> guard(captured);
  CUgraphExec exec = nullptr;
  check(driver().graph_instantiate(&exec, captured, 0), "cuGraphInstantiate");
  Graph graph;
  graph.exec_.reset(exec);
  return graph;
}

}  // namespace tilesmith::runtime
