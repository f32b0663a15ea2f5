// The workspaces of Library::gemm(): one for each stream on which a plan needed one.
//
// A stream runs its kernels in order, so one serves all its plans. One that is outgrown is kept: kernels in flight and
// captured graphs use it.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/driver/device.hpp"

namespace tilesmith::runtime {

class StreamWorkspaces {
 public:
  /// A stream's workspace, in use by one thread: the launches of two plans must not mix, since they share it.
  struct InUse {
    std::unique_lock<std::mutex> lock;
    std::byte* data = nullptr;
  };
  /// A workspace of at least so many bytes for what is launched into the stream as long as the result lives. Allocates
  /// it if there is none; if the stream is being captured then, throws Error (not_planned) instead. Throws DeviceError.
  /// Thread-safe.
  InUse take(CUstream_st* stream, std::size_t bytes);

  /// Frees them all. No other call may be running, and no launch that uses one may be in flight. The context must be
  /// current.
  void clear() noexcept;

 private:
  struct Workspace {
    std::mutex mutex;                   // guards `buffers`, and the order of launches
    std::vector<DeviceBuffer> buffers;  // the last is in use
  };
  using StreamOfThread = std::pair<CUstream_st*, std::thread::id>;
  static StreamOfThread name_of(CUstream_st* stream);

  std::mutex mutex_;  // guards the map
  std::map<StreamOfThread, Workspace> workspaces_;
};

/// Whether the stream is being captured into a graph. Throws DeviceError where the driver does not tell: the default
/// stream while a stream that waits for it is captured.
bool is_captured(CUstream_st* stream);

}  // namespace tilesmith::runtime
