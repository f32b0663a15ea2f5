#include "runtime/compile/kernel_cache.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <string_view>
#include <utility>

#include "db/store/logger.hpp"
#include "kernels/base/content_hash.hpp"
#include "runtime/compile/find_nvrtc.hpp"

namespace tilesmith::runtime {
namespace {

namespace fs = std::filesystem;

// A file: the first line, the checksum of what follows it, the key, a zero, the cubin.
constexpr std::string_view kFirstLine = "tilesmith kernel 1\n";
constexpr std::size_t kHashDigits = 32;
constexpr std::size_t kHeadBytes = kFirstLine.size() + kHashDigits;
constexpr off_t kLargestFileBytes = off_t{64} << 20;
constexpr std::string_view kBehindHash = "-nvrtc";  // and the version
constexpr std::string_view kUnfinished = ".new-";   // what the name of a file that is being written begins with
constexpr std::time_t kHour = 3600;

std::string name_of(const std::string& key, const std::string& nvrtc_version) {
  return content_hash(key) + std::string(kBehindHash) + nvrtc_version;
}

bool is_name_of_kernel(std::string_view name) {
  return name.size() > kHashDigits && name.substr(kHashDigits).starts_with(kBehindHash) &&
         name.find_first_not_of("0123456789abcdef") == kHashDigits;
}

/// Makes the folder and those above it, for this user alone.
void make_private_folders(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0 || errno != ENOENT || !folder.has_relative_path()) return;
  make_private_folders(folder.parent_path());
  ::mkdir(folder.c_str(), 0700);
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count == 0 || (count < 0 && errno != EINTR)) return false;
    if (count > 0) bytes.remove_prefix(std::size_t(count));
  }
  return true;
}

/// Fewer than were asked for if the file ends before.
std::string read_all(int file, std::size_t most) {
  std::string bytes(most, '\0');
  std::size_t done = 0;
  while (done < most) {
    const ssize_t count = ::read(file, bytes.data() + done, most - done);
    if (count == 0 || (count < 0 && errno != EINTR)) break;
    if (count > 0) done += std::size_t(count);
  }
  bytes.resize(done);
  return bytes;
}

/// A larger file would not fail: it would send the application a signal that ends it.
bool may_write(std::size_t bytes) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur);
}

const char* variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

/// Closes itself.
class KernelCache::Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& from) noexcept : number_(std::exchange(from.number_, -1)) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }

  /// Calls with the name of each file of this folder.
  void each_name(const std::function<void(const char*)>& use) const {
    const int own = ::openat(number_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* const listing = own >= 0 ? ::fdopendir(own) : nullptr;
    if (listing == nullptr) {
      if (own >= 0) ::close(own);
      return;
    }
    while (const dirent* const entry = ::readdir(listing)) use(entry->d_name);
    ::closedir(listing);
  }

 private:
  int number_;
};

fs::path kernel_cache_folder() {
  const fs::path named = variable("TILESMITH_CACHE");
  if (named == "off") return {};
  if (!named.empty()) {
    if (named.is_absolute()) make_private_folders(named);
    std::error_code error;
    if (named.is_absolute() && fs::is_directory(named, error)) return named;
    db::logger()->warn(
        "TILESMITH_CACHE is '{}': expected \"off\" or an absolute folder that is there or can be made; compiled kernels "
        "are not kept",
        named.string());
    return {};
  }
  const fs::path cache = variable("XDG_CACHE_HOME"), home = variable("HOME");
  if (cache.is_absolute()) return cache / "tilesmith" / "kernels";
  return home.is_absolute() ? home / ".cache" / "tilesmith" / "kernels" : fs::path();
}

/// Anew for each use: an application may close descriptors that it does not know, and their numbers are then others'.
KernelCache::Descriptor KernelCache::open_folder() const {
  Descriptor folder(folder_.empty() ? -1 : ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat is {};
  if (!folder || ::fstat(folder.number(), &is) != 0) return Descriptor(-1);
  const bool is_ours = is.st_uid == ::geteuid();
  if (is_ours && (is.st_mode & (S_IWGRP | S_IWOTH)) == 0) return folder;
  if (!was_refused_.exchange(true))
    db::logger()->warn(
        "{} {}: expected a folder that is this user's and that no other may write to, since kernels are loaded from it; "
        "compiled kernels are not kept ($TILESMITH_CACHE can name another folder)",
        folder_.string(), is_ours ? "may be written to by other users" : "belongs to another user");
  return Descriptor(-1);
}

std::optional<KernelCache::Kernel> KernelCache::find(
    const std::string& key, const std::string& nvrtc_version, int driver_version) const {
  const Descriptor folder = open_folder();
  if (!folder) return std::nullopt;
  if (!nvrtc_version.empty()) return read(folder, name_of(key, nvrtc_version), key);
  std::vector<std::string> names;
  const std::string begins_with = name_of(key, "");
  folder.each_name([&](std::string_view name) {
    if (name.starts_with(begins_with) &&
        too_new_for_driver(std::string(name.substr(begins_with.size())), driver_version).empty())
      names.emplace_back(name);
  });
  std::ranges::sort(names, std::greater());
  for (const std::string& name : names) {
    if (auto kernel = read(folder, name, key)) return kernel;
  }
  return std::nullopt;
}

bool KernelCache::has(const std::string& key, const std::string& nvrtc_version) const {
  const Descriptor folder = open_folder();
  return folder && ::faccessat(folder.number(), name_of(key, nvrtc_version).c_str(), R_OK, AT_EACCESS) == 0;
}

std::optional<KernelCache::Kernel> KernelCache::read(
    const Descriptor& folder, const std::string& name, const std::string& key) const {
  const Descriptor file(::openat(folder.number(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat is {};
  if (!file || ::fstat(file.number(), &is) != 0 || !S_ISREG(is.st_mode) || is.st_uid != ::geteuid())
    return std::nullopt;
  const std::string bytes = read_all(file.number(), std::size_t(std::min(is.st_size, kLargestFileBytes)));
  const std::string_view head = std::string_view(bytes).substr(0, kHeadBytes),
                         rest = std::string_view(bytes).substr(head.size());
  if (!head.starts_with(kFirstLine) || head.substr(kFirstLine.size()) != content_hash(rest)) {
    db::logger()->warn(
        "{}: is damaged (its checksum differs); the kernel has to be compiled again", (folder_ / name).string());
    ::unlinkat(folder.number(), name.c_str(), 0);
    return std::nullopt;
  }
  if (!rest.starts_with(key) || rest.size() <= key.size() || rest[key.size()] != '\0') return std::nullopt;
  if (std::time(nullptr) - is.st_mtim.tv_sec > kHour) ::futimens(file.number(), nullptr);  // it is in use
  const auto cubin = std::as_bytes(std::span(rest.substr(key.size() + 1)));
  return Kernel{name.substr(kHashDigits + kBehindHash.size()), {cubin.begin(), cubin.end()}};
}

void KernelCache::keep(const std::string& key, const std::string& nvrtc_version, std::span<const std::byte> cubin) {
  static std::atomic<unsigned> number{0};
  if (folder_.empty()) return;
  std::string rest = key + '\0';
  rest.append(reinterpret_cast<const char*>(cubin.data()), cubin.size());
  const std::string bytes = std::string(kFirstLine) + content_hash(rest) + rest;
  if (bytes.size() > std::size_t(kLargestFileBytes) || !may_write(bytes.size())) return;
  make_private_folders(folder_);
  const Descriptor folder = open_folder();
  if (!folder) return;
  const std::string name = name_of(key, nvrtc_version);
  const std::string unfinished = fmt::format("{}{}-{}-{}", kUnfinished, name, ::getpid(), ++number);
  const Descriptor file(
      ::openat(folder.number(), unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return;
  if (!write_all(file.number(), bytes) ||
      ::renameat(folder.number(), unfinished.c_str(), folder.number(), name.c_str()) != 0) {
    ::unlinkat(folder.number(), unfinished.c_str(), 0);
    return;
  }
  if (uncounted_bytes_.fetch_add(bytes.size()) + bytes.size() <= most_bytes_ / 16) return;
  uncounted_bytes_ = 0;
  remove_oldest(folder);
}

void KernelCache::remove_oldest(const Descriptor& folder) const {
  struct Entry {
    timespec used;
    std::uint64_t bytes;
    std::string name;
  };
  std::vector<Entry> entries;
  std::uint64_t all = 0;
  folder.each_name([&](const char* name) {
    struct stat is {};
    const bool is_unfinished = std::string_view(name).starts_with(kUnfinished);
    if (!is_unfinished && !is_name_of_kernel(name)) return;
    if (::fstatat(folder.number(), name, &is, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(is.st_mode)) return;
    if (is_unfinished && std::time(nullptr) - is.st_mtim.tv_sec > kHour) {  // whoever wrote it has ended
      ::unlinkat(folder.number(), name, 0);
      return;
    }
    all += std::uint64_t(is.st_size);
    if (!is_unfinished) entries.push_back({is.st_mtim, std::uint64_t(is.st_size), name});
  });
  if (all <= most_bytes_) return;
  std::ranges::sort(entries, {}, [](const Entry& one) { return std::pair(one.used.tv_sec, one.used.tv_nsec); });
  for (const Entry& oldest : entries) {
    if (all <= most_bytes_ / 8 * 7) return;
    if (::unlinkat(folder.number(), oldest.name.c_str(), 0) == 0) all -= oldest.bytes;
  }
}

}  // namespace tilesmith::runtime
