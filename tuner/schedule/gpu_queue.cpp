#include "tuner/schedule/gpu_queue.hpp"

namespace tilesmith::tuner {

std::optional<db::TaskLock> GpuQueue::take() {
  if (held_) return std::exchange(held_, std::nullopt);
  if (!place_) place_ = locks_.take("next on " + gpu_);
  if (!place_) return std::nullopt;
  std::optional<db::TaskLock> gpu = locks_.take(gpu_);
  if (gpu) place_.reset();
  return gpu;
}

}  // namespace tilesmith::tuner
