#include "db/store/task_locks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstring>

#include "db/files/files.hpp"

namespace tilesmith::db {
namespace {

/// Whoever may write the database may take a lock.
mode_t permissions_of(const std::filesystem::path& database) {
  struct stat status {};
  return ::stat(database.c_str(), &status) == 0 ? status.st_mode & 0777 : 0644;
}

/// Opens the file of locks; it is made if there is none yet, with what permissions the umask would take from it too.
int open_locks(const std::filesystem::path& file, const std::filesystem::path& database) {
  constexpr int kMostTries = 10;  // a link to nowhere is neither there nor to be made
  for (int tries = 0; tries < kMostTries; ++tries) {
    const int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
    if (fd >= 0 || errno != ENOENT) return fd;
    const mode_t permissions = permissions_of(database);
    const int made = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, permissions);
    if (made >= 0) static_cast<void>(::fchmod(made, permissions));  // where that fails, the owner can still take locks
    if (made >= 0 || errno != EEXIST) return made;                  // another process has just made it
  }
  errno = ENOENT;
  return -1;
}

/// Files may be 2^63 - 1 bytes long, and what lies behind the end can be locked too.
off_t byte_of(std::string_view name) { return off_t(XXH3_64bits(name.data(), name.size()) >> 2); }

[[noreturn]] void cannot_lock(const std::filesystem::path& file, std::string_view doing, int error) {
  throw StoreError(fmt::format(
      "{}: {} ({}): expected a file on a local disk that can be written", file.string(), doing, std::strerror(error)));
}

}  // namespace

TaskLock::~TaskLock() {
  if (fd_ >= 0) ::close(fd_);
}

TaskLock& TaskLock::operator=(TaskLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

TaskLocks::TaskLocks(const Store& store) {
  if (store.path() != ":memory:") database_ = real_path(store.path());
}

std::optional<TaskLock> TaskLocks::take(const DeviceIdentity& device, const Task& task) const {
  return take(text(device) + '\n' + text(task));
}

std::optional<TaskLock> TaskLocks::take(std::string_view name) const {
  if (database_.empty()) return TaskLock(-1);
  const std::filesystem::path file = database_.string() + "-locks";
  const int fd = open_locks(file, database_);
  if (fd < 0) cannot_lock(file, "locks cannot be kept here", errno);
  TaskLock lock(fd);
  struct flock asked {};
  asked.l_type = F_WRLCK;
  asked.l_whence = SEEK_SET;
  asked.l_start = byte_of(name);
  asked.l_len = 1;
  // Not F_SETLK: its locks are the process's, and closing any descriptor of the file would drop them all.
  while (::fcntl(fd, F_OFD_SETLK, &asked) != 0) {
    if (errno == EAGAIN || errno == EACCES) return std::nullopt;
    if (errno != EINTR) cannot_lock(file, "locks cannot be taken", errno);
  }
  return lock;
}

}  // namespace tilesmith::db
