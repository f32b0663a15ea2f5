#include "tuner/schedule/gpu_queue.hpp"

namespace tilesmith::tuner {

std::optional<db::Claim> GpuQueue::take() {
  if (held_) return std::exchange(held_, std::nullopt);
  if (!place_) place_ = claims_.take("next on " + gpu_);
  if (!place_) return std::nullopt;
  std::optional<db::Claim> gpu = claims_.take(gpu_);
  if (gpu) place_.reset();
  return gpu;
}

}  // namespace tilesmith::tuner
