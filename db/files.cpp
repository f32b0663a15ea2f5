#include "db/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

#include "db/export.hpp"

namespace tilesmith::db {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestFileBytes = std::uintmax_t{4} << 30;

[[noreturn]] void fail(const fs::path& path, std::string_view doing, int error) {
  throw StoreError(fmt::format("{}: {}: {}", path.string(), doing, std::strerror(error)));
}

/// An open file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  /// Closes now; some file systems report a failed write only here.
  bool close() {
    const int fd = fd_;
    fd_ = -1;
    return ::close(fd) == 0;
  }

 private:
  int fd_;
};

/// Removes a file unless told to keep it.
struct RemoveUnlessKept {
  std::string path;
  bool keep = false;
  explicit RemoveUnlessKept(std::string file) : path(std::move(file)) {}
  ~RemoveUnlessKept() {
    if (!keep) ::unlink(path.c_str());
  }
  RemoveUnlessKept(const RemoveUnlessKept&) = delete;
  RemoveUnlessKept& operator=(const RemoveUnlessKept&) = delete;
};

void write_all(int fd, std::string_view content, const fs::path& path) {
  while (!content.empty()) {
    const ssize_t count = ::write(fd, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path, "cannot be written", errno);
    content.remove_prefix(std::size_t(count));
  }
}

}  // namespace

std::string read_file(const fs::path& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail(path, "cannot be read", errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail(path, "cannot be read", errno);
  if (S_ISDIR(status.st_mode)) throw StoreError(fmt::format("{}: is a folder: expected a file", path.string()));
  std::string content;
  content.reserve(std::size_t(status.st_size));
  char piece[1 << 16];
  for (;;) {
    const ssize_t count = ::read(file.get(), piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path, "cannot be read", errno);
    if (count == 0) return content;
    content.append(piece, std::size_t(count));
    if (content.size() > kLargestFileBytes) {
      throw StoreError(fmt::format("{}: is larger than 4 GiB: expected a smaller file", path.string()));
    }
  }
}

void write_file_atomically(const fs::path& path, std::string_view content) {
  std::error_code error;
  // Renaming over a link would replace the link, and over a device node the device.
  const fs::path target = fs::is_symlink(path, error) ? fs::weakly_canonical(path, error) : path;
  const fs::file_status status = fs::status(target, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw StoreError(fmt::format("{}: is {}: expected the name of a file to write", path.string(),
                                 fs::is_directory(status) ? "a folder" : "no regular file"));
  }
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error)) {
    throw StoreError(fmt::format("{}: there is no folder {}: expected one", path.string(), folder.string()));
  }

  const std::string temporary = (folder / fmt::format(".{}.{}", target.filename().string(), new_uuid())).string();
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) fail(path, "cannot be written", errno);
  RemoveUnlessKept guard(temporary);
  write_all(file.get(), content, path);
  if (::fsync(file.get()) != 0) fail(path, "cannot be written", errno);
  if (!file.close()) fail(path, "cannot be written", errno);
  if (::rename(temporary.c_str(), target.c_str()) != 0) fail(path, "cannot be written", errno);
  guard.keep = true;
  // The new name reaches the disk with its folder; a folder that cannot be synced has still been renamed in.
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() >= 0) ::fsync(directory.get());
}

}  // namespace tilesmith::db
