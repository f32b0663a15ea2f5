#include "runtime/plan/captured_order.hpp"

namespace tilesmith::runtime {
namespace {

/// The one node that what the stream captures next comes behind; null where there is none, or are several. Captures
/// have numbers of their own, so that a node of a graph that is gone is not taken for a later one's at the same
/// address; and streams that a capture has joined may be of other devices.
struct CapturedNode {
  CUstream stream = nullptr;
  cuuint64_t capture = 0;
  CUgraphNode node = nullptr;

  bool operator==(const CapturedNode&) const = default;
};

thread_local CapturedNode last_letting;

struct Capture {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  CapturedNode behind;
};

Capture capture_of(const Driver& driver, CUstream stream) noexcept {
  Capture capture;
  capture.behind.stream = stream;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  std::size_t count = 0;
  if (driver.stream_get_capture_info(stream, &capture.status, &capture.behind.capture, &graph, &nodes, &count) !=
      CUDA_SUCCESS) {
    return {};
  }
  if (capture.status == CU_STREAM_CAPTURE_STATUS_ACTIVE && count == 1) capture.behind.node = nodes[0];
  return capture;
}

}  // namespace

StreamPlace place_in(const Driver& driver, CUstream stream) noexcept {
  const Capture capture = capture_of(driver, stream);
  if (capture.status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
    return {false, capture.status == CU_STREAM_CAPTURE_STATUS_NONE};
  return {true, capture.behind.node != nullptr && capture.behind == last_letting};
}

void remember_letting_kernel(const Driver& driver, CUstream stream) noexcept {
  last_letting = capture_of(driver, stream).behind;
}

}  // namespace tilesmith::runtime
