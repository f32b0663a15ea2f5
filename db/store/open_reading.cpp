
#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "db/files/files.hpp"
#include "db/store/open.hpp"
#include "db/store/schema.hpp"

namespace tilesmith::db {
namespace {

namespace fs = std::filesystem;

std::string file_uri(const fs::path& path, std::string_view query) {
  std::string uri = "file:";
  std::string file = fs::absolute(path).string();
  file.erase(0, file.find_first_not_of('/') - 1);  // what stands behind two slashes reads as a host's name
  for (const char c : file) {
    if (c == '?' || c == '#' || c == '%') uri += fmt::format("%{:02x}", unsigned(static_cast<unsigned char>(c)));
    else uri += c;
  }
  return uri + std::string(query);
}

/// What changes with a file that a writer has left; who sets the time of its content back changes that of its status.
/// While one is at work there is a log.
using FileState = std::array<std::int64_t, 7>;

/// nullopt if there is no such file.
std::optional<FileState> state_of(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileState{std::int64_t(status.st_dev), std::int64_t(status.st_ino), std::int64_t(status.st_size),
      std::int64_t(status.st_mtim.tv_sec), std::int64_t(status.st_mtim.tv_nsec), std::int64_t(status.st_ctim.tv_sec),
      std::int64_t(status.st_ctim.tv_nsec)};
}

/// Reads as if nobody could change the file, without locks and files beside it, and opens it anew when somebody did.
Database open_without_locks(const fs::path& path, const fs::path& real, const AskFileSystem& ask) {
  const std::optional<FileState> before = state_of(real);
  Database database = open_immutable(path, real);
  // By its name: a link may lead elsewhere by then.
  database.renew_by([file = fs::absolute(path), before, ask]() -> std::optional<Database> {
    const std::optional<FileState> now = state_of(file);
    if (!now || (now == before && !has_log(real_path(file)))) return std::nullopt;  // a removed file stays what it was
    return open_for_reading(file, ask);
  });
  return database;
}

/// Long enough for what is no writer's lock. A file system may have no locks at all (NFS without lockd), which SQLite
/// takes for one.
constexpr std::chrono::milliseconds kPatienceWithoutWriter(100);

/// What this user cannot write, others may. With their log and its index beside it SQLite reads it as any other; where
/// there are none it could not make them, or they would be files that bar the others. A log must not be passed over,
/// nor a journal: who writes without a log has one, from before his first change until after the last.
Database open_unwritable(const fs::path& path, const fs::path& real, bool of_wal, const AskFileSystem& ask) {
  if (!of_wal || has_log(real) || is_there(beside(real, "-shm"))) {
    const bool has_writer = of_wal || is_there(beside(real, "-journal"));
    try {
      Database database(file_uri(real, "?mode=ro"), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, path.string());
      if (!has_writer) database.set_patience(kPatienceWithoutWriter);
      schema_version(database);  // the first read opens the log
      database.set_patience(Database::kPatience);
      return database;
    } catch (const StoreError&) {
      if (has_log(real)) {
        throw StoreError(
            fmt::format("{}: its log {} holds entries that cannot be read here: open it once where it is writable",
                path.string(), name_of_log(path, real)));
      }
      if (!of_wal && is_there(beside(real, "-journal"))) {
        if (has_writer) throw;
        return open_unwritable(path, real, of_wal, ask);  // one came just now
      }
    }
  }
  return open_without_locks(path, real, ask);
}

/// Whether SQLite can make and use its files beside the database; on a full disk it cannot.
bool has_room(const Database& database) {
  try {
    schema_version(database);
  } catch (const StoreError&) {
    const int code = sqlite3_errcode(database.handle());
    return code != SQLITE_IOERR && code != SQLITE_FULL && code != SQLITE_CANTOPEN;
  }
  return true;
}

}  // namespace

Database open_immutable(const fs::path& path, const fs::path& real) {
  return {file_uri(real, "?immutable=1&mode=ro"), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, path.string()};
}

Database open_in_some_way(const fs::path& path, const fs::path& real, bool of_wal, const AskFileSystem& ask) {
  if (const auto network = network_name(ask(real))) {
    if (has_log(real) || size_or_zero(beside(real, "-journal")) != 0) {
      throw StoreError(fmt::format(
          "{}: lies in {} with a writer's {} beside it, which cannot be read safely there: end the writer, copy both "
          "to a local disk and open the copy",
          path.string(), *network, has_log(real) ? "log" : "journal"));
    }
    return open_without_locks(path, real, ask);
  }
  if (writable(real) && writable(folder_of(real))) {
    // Opened for writing by name but barred from it by query_only: SQLite then removes its -wal and -shm files at the
    // end, which a connection of mode=ro leaves behind. A log in which a writer has left something is the next
    // writer's.
    Database database(real.string(), SQLITE_OPEN_READWRITE, path.string());
    database.execute("PRAGMA query_only = 1");
    database.keep_log_on_close(true);
    if (has_log(real) || has_room(database)) return database;
  }
  return open_unwritable(path, real, of_wal, ask);
}

}  // namespace tilesmith::db
