#include "runtime/interface/stream_workspaces.hpp"

#include <fmt/format.h>

#include <bit>

#include "runtime/driver/context_guards.hpp"
#include "runtime/driver/driver.hpp"
#include "runtime/interface/gemm.hpp"

namespace tilesmith::runtime {

/// Each thread has a stream of its own behind the one handle CU_STREAM_PER_THREAD.
StreamWorkspaces::StreamOfThread StreamWorkspaces::name_of(CUstream_st* stream) {
  if (stream == CU_STREAM_LEGACY) return {nullptr, {}};
  return {stream, stream == CU_STREAM_PER_THREAD ? std::this_thread::get_id() : std::thread::id{}};
}

StreamWorkspaces::InUse StreamWorkspaces::take(CUstream_st* stream, std::size_t bytes) {
  Workspace* found = nullptr;
  {
    const std::lock_guard lock(mutex_);
    found = &workspaces_[name_of(stream)];
  }
  InUse in_use{std::unique_lock(found->mutex)};
  std::vector<DeviceBuffer>& buffers = found->buffers;
  if (buffers.empty() || buffers.back().size() < bytes) {
    if (is_captured(stream)) {
      throw Error(ErrorCode::not_planned,
          fmt::format("the stream is being captured and has no workspace of {} bytes: call prepare() with this "
                      "stream before the capture",
              bytes));
    }
    const LetOthersCapture let_others;
    buffers.emplace_back(std::bit_ceil(bytes));
  }
  in_use.data = buffers.back().data();
  return in_use;
}

void StreamWorkspaces::clear() noexcept {
  const std::lock_guard lock(mutex_);
  workspaces_.clear();
}

bool is_captured(CUstream_st* stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t capture = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  std::size_t count = 0;
  check(driver().stream_get_capture_info(stream, &status, &capture, &graph, &nodes, &count), "cuStreamGetCaptureInfo");
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace tilesmith::runtime
