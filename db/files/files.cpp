#include "db/files/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <system_error>

#include "db/exchange/export.hpp"

namespace tilesmith::db {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestFileBytes = std::uintmax_t{4} << 30;
constexpr int kMostLinks = 40;  // as the kernel follows

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

/// A file as SQLite has it open for a database, to be read.
class SqliteFile {
 public:
  /// `real`: the path of no link. SQLite's connections follow links, its files do not.
  SqliteFile(const fs::path& path, const fs::path& real)
      : path_(path), name_(sqlite3_create_filename(real.c_str(), "", "", 0, nullptr)) {
    sqlite3_vfs* const system = sqlite3_vfs_find(nullptr);
    if (name_ == nullptr || system == nullptr) throw std::bad_alloc();
    memory_ = std::make_unique<std::byte[]>(std::size_t(system->szOsFile));
    errno = 0;
    if (system->xOpen(system, name_.get(), file(), SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB, nullptr) != SQLITE_OK) {
      close();
      fail(path, "cannot be read", errno != 0 ? errno : EIO);
    }
  }
  ~SqliteFile() { close(); }
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  std::string first_bytes(std::size_t most) {
    const sqlite3_io_methods& does = *file()->pMethods;
    sqlite3_int64 size = 0;
    if (does.xFileSize(file(), &size) != SQLITE_OK) fail(path_, "cannot be read", EIO);
    std::string bytes(std::min(most, std::size_t(size)), '\0');
    if (!bytes.empty() && does.xRead(file(), bytes.data(), int(bytes.size()), 0) != SQLITE_OK)
      fail(path_, "cannot be read", EIO);
    return bytes;
  }

 private:
  sqlite3_file* file() { return reinterpret_cast<sqlite3_file*>(memory_.get()); }
  void close() {
    if (file()->pMethods != nullptr) file()->pMethods->xClose(file());
  }

  const fs::path& path_;
  struct FreeName {  // a const char* since SQLite 3.40, a char* before
    void operator()(const char* name) const { sqlite3_free_filename(const_cast<char*>(name)); }
  };
  std::unique_ptr<const char, FreeName> name_;
  std::unique_ptr<std::byte[]> memory_;  // zeros: no methods before it is open
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

/// Renaming over a link would replace the link, also one behind which there is no file yet.
fs::path behind_link(const fs::path& path) {
  std::error_code error;
  fs::path at = path;
  for (int links = 0; links < kMostLinks; ++links) {
    const fs::path target = fs::read_symlink(at, error);
    if (error) break;  // it is no link
    at = at.parent_path() / target;
  }
  return at;
}

bool is_writable_kind(const fs::file_status& status) {
  return fs::is_regular_file(status) || fs::is_fifo(status) || fs::is_character_file(status);
}

/// What cannot be renamed over, though it may be written: a file in a folder that is not ours to change, one that is
/// mounted by itself.
bool bars_renaming(int error) {
  return error == EACCES || error == EPERM || error == EROFS || error == EBUSY || error == EXDEV;
}

/// Through a descriptor that is open already (`own`), or into what is there: a pipe, a device, a file that cannot be
/// replaced.
void write_in_place(const fs::path& path, std::optional<int> own, std::string_view content) {
  if (own == STDOUT_FILENO) std::fflush(stdout);
  Descriptor file(own ? ::fcntl(*own, F_DUPFD_CLOEXEC, 0) : ::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (file.get() < 0) fail(path, "cannot be written", errno);
  write_all(file.get(), content, path);
  if (::fsync(file.get()) != 0 && errno != EINVAL && errno != EROFS)
    fail(path, "cannot be written", errno);  // EINVAL: a pipe
  if (!file.close()) fail(path, "cannot be written", errno);
}

/// False if the file cannot be replaced, and was left as it was.
bool replace_file(
    const fs::path& path, const fs::path& target, const fs::file_status& status, std::string_view content) {
  const fs::path folder = folder_of(target);
  const auto give_up = [&] {
    if (!fs::exists(status) || !bars_renaming(errno)) fail(path, "cannot be written", errno);
    return false;
  };
  const std::string temporary = (folder / fmt::format(".{}.{}", target.filename().string(), new_uuid())).string();
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) return give_up();
  RemoveUnlessKept guard(temporary);
  if (fs::exists(status)) ::fchmod(file.get(), mode_t(status.permissions()) & 0777);  // who may read it stays as it was
  write_all(file.get(), content, path);
  if (::fsync(file.get()) != 0) fail(path, "cannot be written", errno);
  if (!file.close()) fail(path, "cannot be written", errno);
  if (::rename(temporary.c_str(), target.c_str()) != 0) return give_up();
  guard.keep = true;
  // The new name reaches the disk with its folder; a folder that cannot be synced has still been renamed in.
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() >= 0) ::fsync(directory.get());
  return true;
}

}  // namespace

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::uintmax_t size_or_zero(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  return error ? 0 : size;
}

fs::path beside(const fs::path& real, const char* suffix) { return fs::path(real.string() + suffix); }

bool has_log(const fs::path& real) { return size_or_zero(beside(real, "-wal")) != 0; }

std::string name_of_log(const fs::path& path, const fs::path& real) {
  const fs::path log = beside(real, "-wal");
  std::error_code ignored;
  return (fs::is_symlink(path, ignored) ? log : log.filename()).string();
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

bool writable(const fs::path& path) { return ::access(path.c_str(), W_OK) == 0; }

fs::path real_path(const fs::path& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path);
  const fs::path real = fs::weakly_canonical(absolute, error);
  return error ? absolute : real;
}

std::optional<int> own_descriptor(const fs::path& path) {
  std::error_code error;
  const fs::path descriptors = fs::canonical("/proc/self/fd", error);
  fs::path at = path;
  for (int links = 0; links < kMostLinks && !error; ++links) {
    const fs::path folder = fs::canonical(at.has_parent_path() ? at.parent_path() : ".", error);
    if (error) break;
    const std::string name = at.filename().string();
    if (folder == descriptors) {
      int fd = -1;
      const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), fd);
      const bool is_number = wrong == std::errc{} && end == name.data() + name.size();
      return is_number && ::fcntl(fd, F_GETFD) >= 0 ? std::optional(fd) : std::nullopt;
    }
    at = folder / fs::read_symlink(folder / name, error);
  }
  return std::nullopt;
}

std::string not_writable_because(const fs::path& path) {
  if (path.empty() || path.filename().empty()) return "names no file";
  if (const auto own = own_descriptor(path)) {
    return (::fcntl(*own, F_GETFL) & O_ACCMODE) == O_RDONLY ? "is open for reading" : "";
  }
  std::error_code error;
  const fs::path target = behind_link(path);
  const fs::file_status status = fs::status(target, error);
  if (fs::is_directory(status)) return "is a folder";
  if (fs::exists(status)) {
    if (!is_writable_kind(status)) return "is neither a file nor a pipe";
    return ::access(target.c_str(), W_OK) == 0 ? "" : "is not writable";
  }
  const fs::path folder = folder_of(target);
  if (!fs::is_directory(folder, error)) return fmt::format("the folder {} does not exist", folder.string());
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return fmt::format("the folder {} is not writable", folder.string());
  return "";
}

std::FILE* open_to_append(const fs::path& path) {
  const auto own = own_descriptor(path);
  if (!own) return std::fopen(path.c_str(), "ae");
  const int fd = ::fcntl(*own, F_DUPFD_CLOEXEC, 0);
  std::FILE* const file = fd < 0 ? nullptr : ::fdopen(fd, "w");  // nothing is cut off: it was open before
  if (file == nullptr && fd >= 0) ::close(fd);
  return file;
}

std::string first_bytes(const fs::path& path, std::size_t most) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (!error) return SqliteFile(path, real).first_bytes(most);
  // Open, but of no name any more, such as /dev/fd/3 of a removed file: no connection can have it by one.
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(path, "cannot be read", errno);
  std::string bytes(most, '\0');
  file.read(bytes.data(), std::streamsize(most));
  bytes.resize(std::size_t(file.gcount()));
  return bytes;
}

std::string read_file(const fs::path& path, std::string_view expected) {
  const auto refuse_database = [&](std::string_view bytes) {
    if (!bytes.starts_with(kSqliteMagic)) return;
    throw StoreError(fmt::format("{}: is an SQLite database: expected {}", path.string(), expected));
  };
  std::error_code unknown;
  if (fs::is_regular_file(path, unknown)) refuse_database(first_bytes(path, kSqliteMagic.size()));
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
    if (count == 0) break;
    content.append(piece, std::size_t(count));
    if (content.size() > kLargestFileBytes) {
      throw StoreError(fmt::format("{}: is larger than 4 GiB: expected a smaller file", path.string()));
    }
  }
  refuse_database(content);  // out of a pipe
  return content;
}

void write_file_atomically(const fs::path& path, std::string_view content) {
  if (const auto own = own_descriptor(path)) return write_in_place(path, own, content);
  std::error_code error;
  const fs::path target = behind_link(path);
  const fs::file_status status = fs::status(target, error);
  if (fs::exists(status) && !is_writable_kind(status)) {
    throw StoreError(fmt::format("{}: is {}: expected the name of a file to write", path.string(),
        fs::is_directory(status) ? "a folder" : "neither a file nor a pipe"));
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) return write_in_place(path, std::nullopt, content);
  if (!fs::is_directory(folder_of(target), error)) {
    throw StoreError(fmt::format("{}: there is no folder {}: expected one", path.string(), folder_of(target).string()));
  }
  if (!replace_file(path, target, status, content)) write_in_place(path, std::nullopt, content);
}

}  // namespace tilesmith::db
