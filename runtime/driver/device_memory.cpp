// Device memory, streams, events and graphs.
#include <fmt/format.h>

#include <utility>

#include "runtime/driver/device.hpp"
#include "runtime/driver/driver.hpp"

namespace tilesmith::runtime {
namespace {

CUdeviceptr address(const std::byte* data) { return reinterpret_cast<CUdeviceptr>(data); }

void check_range(std::size_t offset_bytes, std::size_t bytes, std::size_t size_bytes, const char* call) {
  if (offset_bytes <= size_bytes && bytes <= size_bytes - offset_bytes) return;
  throw DeviceError(CUDA_ERROR_INVALID_VALUE, fmt::format("{}: {} bytes at offset {} are beyond the buffer's {}", call,
                                                          bytes, offset_bytes, size_bytes));
}

/// Copies from pageable memory and fills may return before the device is done with them, and kernels on other streams
/// would overtake them.
void wait_for_null_stream() { check(driver().stream_synchronize(nullptr), "cuStreamSynchronize"); }

}  // namespace

DeviceBuffer::DeviceBuffer(std::size_t bytes) {
  if (bytes == 0) return;
  CUdeviceptr pointer = 0;
  const Driver& table = driver();
  if (const CUresult result = table.mem_alloc(&pointer, bytes); result != CUDA_SUCCESS) {
    throw DeviceError(result, describe(table, result, fmt::format("cuMemAlloc of {} bytes", bytes)));
  }
  data_ = reinterpret_cast<std::byte*>(pointer);
  bytes_ = bytes;
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  DeviceBuffer moved(std::move(other));
  std::swap(data_, moved.data_);
  std::swap(bytes_, moved.bytes_);
  return *this;
}

DeviceBuffer::~DeviceBuffer() {
  if (data_ == nullptr) return;
  if (const Driver* table = driver_or_null()) log_if_failed(table->mem_free(address(data_)), "cuMemFree");
}

SharedWord::SharedWord() {
  void* memory = nullptr;
  check(driver().mem_host_alloc(&memory, sizeof(int), CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP), "cuMemHostAlloc");
  word_ = static_cast<int*>(memory);
  *word_ = 0;
}

SharedWord::~SharedWord() {
  if (const Driver* table = driver_or_null()) log_if_failed(table->mem_free_host(word_), "cuMemFreeHost");
}

void DeviceBuffer::upload(std::span<const std::byte> host, std::size_t offset_bytes) {
  check_range(offset_bytes, host.size(), bytes_, "upload");
  if (host.empty()) return;
  check(driver().memcpy_to_device(address(data_) + offset_bytes, host.data(), host.size()), "cuMemcpyHtoD");
  wait_for_null_stream();
}

void DeviceBuffer::download(std::span<std::byte> host, std::size_t offset_bytes) const {
  check_range(offset_bytes, host.size(), bytes_, "download");
  if (host.empty()) return;
  check(driver().memcpy_to_host(host.data(), address(data_) + offset_bytes, host.size()), "cuMemcpyDtoH");
}

void DeviceBuffer::fill(unsigned char byte) {
  if (bytes_ == 0) return;
  check(driver().memset_u8(address(data_), byte, bytes_), "cuMemsetD8");
  wait_for_null_stream();
}

// Ordered with the null stream, so that a download sees what was launched before it.
Stream::Stream() { check(driver().stream_create(&stream_, CU_STREAM_DEFAULT), "cuStreamCreate"); }

Stream::~Stream() {
  if (const Driver* table = driver_or_null()) log_if_failed(table->stream_destroy(stream_), "cuStreamDestroy");
}

void Stream::synchronize() const { check(driver().stream_synchronize(stream_), "cuStreamSynchronize"); }

Event::Event() { check(driver().event_create(&event_, CU_EVENT_DEFAULT), "cuEventCreate"); }

Event::~Event() {
  if (const Driver* table = driver_or_null()) log_if_failed(table->event_destroy(event_), "cuEventDestroy");
}

void Event::record(const Stream& stream) { check(driver().event_record(event_, stream.get()), "cuEventRecord"); }

void Event::synchronize() const { check(driver().event_synchronize(event_), "cuEventSynchronize"); }

double Event::elapsed_us_since(const Event& start) const {
  float ms = 0;
  check(driver().event_elapsed_ms(&ms, start.event_, event_), "cuEventElapsedTime");
  return double(ms) * 1e3;
}

Graph::Graph(Graph&& other) noexcept : exec_(std::exchange(other.exec_, nullptr)) {}

Graph& Graph::operator=(Graph&& other) noexcept {
  Graph moved(std::move(other));
  std::swap(exec_, moved.exec_);
  return *this;
}

Graph::~Graph() {
  if (exec_ == nullptr) return;
  if (const Driver* table = driver_or_null()) log_if_failed(table->graph_exec_destroy(exec_), "cuGraphExecDestroy");
}

void Graph::launch(const Stream& stream) const { check(driver().graph_launch(exec_, stream.get()), "cuGraphLaunch"); }

void Graph::begin_capture(const Stream& stream) {
  // Thread-local: other threads may allocate and synchronize meanwhile.
  check(driver().stream_begin_capture(stream.get(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "cuStreamBeginCapture");
}

void Graph::abandon_capture(const Stream& stream) noexcept {
  const Driver* table = driver_or_null();
  if (table == nullptr) return;
  CUgraph graph = nullptr;
  table->stream_end_capture(stream.get(), &graph);  // fails if the capture is invalid already, and ends it all the same
  if (graph != nullptr) log_if_failed(table->graph_destroy(graph), "cuGraphDestroy");
}

Graph Graph::end_capture(const Stream& stream) {
  const Driver& table = driver();
  CUgraph captured = nullptr;
  check(table.stream_end_capture(stream.get(), &captured), "cuStreamEndCapture");
  Graph graph;
  const CUresult result = table.graph_instantiate(&graph.exec_, captured, 0);
  if (result != CUDA_SUCCESS) graph.exec_ = nullptr;
  log_if_failed(table.graph_destroy(captured), "cuGraphDestroy");
  check(result, "cuGraphInstantiate");
  return graph;
}

}  // namespace tilesmith::runtime
