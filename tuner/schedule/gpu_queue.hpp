// Who may time on a GPU that several tuners share.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "db/store/task_locks.hpp"

namespace tilesmith::tuner {

/// One tuner of a database at a time. They queue: the one that had it must not have it again before
/// one that waits.
class GpuQueue {
 public:
  /// `gpu` is its name, the same for every tuner.
  GpuQueue(const db::Store& store, std::string gpu) : locks_(store), gpu_(std::move(gpu)) {}
  /// nullopt: it is another's, or another is next. Then asked again, until it is granted or nobody waits any more.
  std::optional<db::TaskLock> take() {
    if (held_) return std::exchange(held_, std::nullopt);
    if (!place_) place_ = locks_.take("next on " + gpu_);
    if (!place_) return std::nullopt;
    std::optional<db::TaskLock> gpu = locks_.take(gpu_);
    if (gpu) place_.reset();
    return gpu;
  }
  /// What was granted is held on to, for the next take().
  void put_back(db::TaskLock gpu) { held_ = std::move(gpu); }

 private:
  const db::TaskLocks locks_;
  const std::string gpu_;
  std::optional<db::TaskLock> place_, held_;
};

}  // namespace tilesmith::tuner
