// What a call of the library leaves as it was: the thread's current context, and captures of other threads.
#pragma once

#include <memory>
#include <optional>

#include "runtime/driver/device.hpp"

struct CUctx_st;

namespace tilesmith::runtime {

/// Puts the calling thread's current context back when it ends. Where there was none, the library's stays, for the
/// calls that follow; but not behind what releases it, nor where it was current before and ended with that.
class [[nodiscard]] KeepCurrentContext {
 public:
  enum class IfNone { keep_ours, leave_none };
  explicit KeepCurrentContext(IfNone if_none = IfNone::keep_ours) noexcept;
  ~KeepCurrentContext();
  KeepCurrentContext(const KeepCurrentContext&) = delete;
  KeepCurrentContext& operator=(const KeepCurrentContext&) = delete;
  /// Releases a context, which is not put back if nobody else holds it.
  void release(std::unique_ptr<Context> context) noexcept;

 private:
  CUctx_st* former_ = nullptr;
  bool put_back_ = false;
};

/// The context is current while this lives. Where it is anyway this costs one driver call. Throws DeviceError.
class [[nodiscard]] CurrentContext {
 public:
  explicit CurrentContext(const Context& context);

 private:
  std::optional<KeepCurrentContext> keep_;
};

/// While it lives, what the calling thread allocates, loads and frees does not invalidate a capture of another thread,
/// as it would one of CU_STREAM_CAPTURE_MODE_GLOBAL. In a capture of the thread's own such calls fail, unless the
/// application allows them (MODE_RELAXED).
class [[nodiscard]] LetOthersCapture {
 public:
  LetOthersCapture() noexcept;
  ~LetOthersCapture();
  LetOthersCapture(const LetOthersCapture&) = delete;
  LetOthersCapture& operator=(const LetOthersCapture&) = delete;

 private:
  int former_ = 0;  // CUstreamCaptureMode
  bool put_back_ = false;
};

}  // namespace tilesmith::runtime
