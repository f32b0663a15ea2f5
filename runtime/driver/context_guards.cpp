#include "runtime/driver/context_guards.hpp"

#include "runtime/driver/driver.hpp"

namespace tilesmith::runtime {

KeepCurrentContext::KeepCurrentContext(IfNone if_none) noexcept {
  const Driver* driver = driver_or_null();
  if (driver == nullptr || driver->ctx_get_current(&former_) != CUDA_SUCCESS) return;
  put_back_ = former_ != nullptr || if_none == IfNone::leave_none;
}

KeepCurrentContext::~KeepCurrentContext() {
  const Driver* driver = driver_or_null();
  if (driver != nullptr && put_back_) log_if_failed(driver->ctx_set_current(former_), "cuCtxSetCurrent");
}

void KeepCurrentContext::release(std::unique_ptr<Context> context) noexcept {
  const bool is_put_back = put_back_ && former_ == context->handle();
  const int ordinal = context->info().ordinal;
  context.reset();
  const Driver* driver = driver_or_null();
  if (!is_put_back || driver == nullptr) return;
  CUdevice device = 0;
  unsigned flags = 0;
  int active = 1;
  if (driver->device_get(&device, ordinal) != CUDA_SUCCESS) return;
  if (driver->primary_ctx_get_state(device, &flags, &active) == CUDA_SUCCESS && active == 0) former_ = nullptr;
}

CurrentContext::CurrentContext(const Context& context) {
  CUcontext current = nullptr;
  check(driver().ctx_get_current(&current), "cuCtxGetCurrent");
  if (current == context.handle()) return;
  keep_.emplace();
  context.make_current();
}

LetOthersCapture::LetOthersCapture() noexcept {
  const Driver* driver = driver_or_null();
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
  if (driver == nullptr || driver->thread_exchange_capture_mode(&mode) != CUDA_SUCCESS) return;
  former_ = mode;
  put_back_ = mode != CU_STREAM_CAPTURE_MODE_RELAXED;
  if (!put_back_) log_if_failed(driver->thread_exchange_capture_mode(&mode), "cuThreadExchangeStreamCaptureMode");
}

LetOthersCapture::~LetOthersCapture() {
  const Driver* driver = driver_or_null();
  auto mode = CUstreamCaptureMode(former_);
  if (driver != nullptr && put_back_)
    log_if_failed(driver->thread_exchange_capture_mode(&mode), "cuThreadExchangeStreamCaptureMode");
}

}  // namespace tilesmith::runtime
