// TaskLocks: no two processes that share a database tune the same problem on the same kind of device at a time.
//
// A lock is held on one byte of an empty file beside the database (tuned.db-locks); device and problem say which byte.
// The operating system drops it with its process, so a lock is never stale. The file must be on a disk with working
// locks, shared by one machine.
//
// Errors: StoreError, one line, if the file cannot be opened or locked. Threads: TaskLocks may be used by any.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "db/store/record.hpp"
#include "db/store/store.hpp"

namespace tilesmith::db {

/// Holds the lock until its end.
class [[nodiscard]] TaskLock {
 public:
  ~TaskLock();
  TaskLock(TaskLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  TaskLock& operator=(TaskLock&& other) noexcept;

 private:
  friend class TaskLocks;
  explicit TaskLock(int fd) : fd_(fd) {}
  int fd_;  // its lock belongs to this descriptor alone; -1: nobody else can see what was locked
};

class TaskLocks {
 public:
  /// A store in memory is seen by nobody else: every lock is then granted.
  explicit TaskLocks(const Store& store);
  /// nullopt while somebody has it: another process, or another TaskLock of this one. Does not wait.
  std::optional<TaskLock> take(const DeviceIdentity& device, const Task& task) const;
  /// The same for anything that has a name of its own.
  std::optional<TaskLock> take(std::string_view name) const;

 private:
  std::filesystem::path database_;  // empty: in memory
};

}  // namespace tilesmith::db
