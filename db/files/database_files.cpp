#include "db/files/database_files.hpp"

#include <unistd.h>

#include <system_error>

namespace tilesmith::db {

namespace fs = std::filesystem;

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

}  // namespace tilesmith::db
