#include "db/open.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

#include "db/files.hpp"
#include "db/logger.hpp"
#include "db/migrations.hpp"

namespace tilesmith::db {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExpected = "expected a Tilesmith database";

/// A verdict on a file; other errors are of the moment.
struct Refusal : StoreError {
  using StoreError::StoreError;
};

[[noreturn]] void refuse(const fs::path& path, std::string_view reason) {
  throw Refusal(fmt::format("{}: {}", path.string(), reason));
}

std::string newer_version(std::int64_t version) {
  return fmt::format("database schema version {} is newer than this program's: expected at most {}", version,
                     kSchemaVersion);
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// Size in bytes, 0 if there is no such file.
std::uintmax_t size_or_zero(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  return error ? 0 : size;
}

fs::path beside(const fs::path& path, const char* suffix) { return fs::path(path.string() + suffix); }

/// `real`, here and below: the path of no link. SQLite follows links too, so that this is what its files lie beside.
bool has_log(const fs::path& real) { return size_or_zero(beside(real, "-wal")) != 0; }

/// As who named the database can find it.
std::string name_of_log(const fs::path& path, const fs::path& real) {
  const fs::path log = beside(real, "-wal");
  std::error_code ignored;
  return (fs::is_symlink(path, ignored) ? log : log.filename()).string();
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

bool writable(const fs::path& path) { return ::access(path.c_str(), W_OK) == 0; }

std::uint32_t big_endian_32(const char* bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | std::uint32_t(static_cast<unsigned char>(bytes[i]));
  return value;
}

constexpr std::size_t kHeaderBytes = 100;

/// What the file's first bytes say (SQLite's file format, "The Database Header").
struct FileHeader {
  bool empty = false;
  std::uint32_t user_version = 0;
  std::uint32_t application_id = 0;
  bool of_wal = false;
};

/// Reads the header without a connection, so that a file which will be refused gets no -wal or -shm beside it.
FileHeader read_header(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) refuse(path, fmt::format("is a folder: {}", kExpected));
  if (!fs::is_regular_file(status)) refuse(path, fmt::format("is not a regular file: {}", kExpected));
  const std::string bytes = first_bytes(path, kHeaderBytes);
  if (bytes.empty() && size_or_zero(path) == 0) return {.empty = true};  // to SQLite a file of one byte is empty too
  if (bytes.size() < kHeaderBytes || !bytes.starts_with(kSqliteMagic)) {
    refuse(path, fmt::format("is not an SQLite database: {}", kExpected));
  }
  return {.user_version = big_endian_32(&bytes[60]), .application_id = big_endian_32(&bytes[68]), .of_wal = bytes[18] == 2};
}

void check_header(const fs::path& path, const FileHeader& header) {
  if (header.empty || (header.application_id == 0 && header.user_version == 0)) return;  // judged with SQLite's help
  if (header.application_id != kApplicationId) {
    refuse(path, fmt::format("is another program's SQLite database (application id {:#x}): {}", header.application_id,
                             kExpected));
  }
  if (header.user_version > std::uint32_t(kSchemaVersion)) refuse(path, newer_version(header.user_version));
}

std::int64_t single_integer(const Database& database, std::string_view sql, std::string_view column) {
  Statement statement(database, sql);
  return statement.step() ? statement.integer(column) : 0;
}

/// The same checks with SQLite's eyes, which also see what is still in the write-ahead log. Returns the version.
int check_contents(const Database& database, const fs::path& path, bool had_log) {
  const auto refuse_contents = [&](std::string reason) {
    if (had_log) {
      reason += fmt::format("; its log {}-wal may belong to another database: move it away", path.filename().string());
    }
    refuse(path, reason);
  };
  const auto refuse_corrupt = [&](std::string_view what) {
    refuse_contents(fmt::format("the database is corrupt ({}): expected a sound one; restore it or merge from a copy", what));
  };
  try {
    Statement check(database, "PRAGMA quick_check(1)");
    if (check.step()) {
      if (const std::string verdict = check.text("quick_check"); verdict != "ok") {
        refuse_corrupt(verdict.substr(0, verdict.find('\n')));
      }
    }
  } catch (const StoreError& error) {
    const int code = sqlite3_errcode(database.handle());
    if (code != SQLITE_CORRUPT && code != SQLITE_NOTADB) throw;
    refuse_corrupt(sqlite3_errmsg(database.handle()));
  }
  // All of one moment: another process may be making the tables.
  const Transaction snapshot(database, Transaction::Kind::read);
  const std::int64_t application = single_integer(database, "PRAGMA application_id", "application_id");
  const int version = schema_version(database);
  if (application == 0 && version == 0) {
    if (single_integer(database, "SELECT count(*) AS tables FROM sqlite_master", "tables") != 0) {
      refuse_contents(fmt::format("is another program's SQLite database: {}", kExpected));
    }
    return 0;
  }
  if (application != kApplicationId) {
    refuse_contents(fmt::format("is another program's SQLite database (application id {:#x}): {}", application, kExpected));
  }
  if (version > kSchemaVersion) refuse_contents(newer_version(version));
  return version;
}

/// SQLite gives up at once where two connections switch to WAL together, so the patience is ours.
void switch_to_wal(const Database& database) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (;;) {
    try {
      Statement statement(database, "PRAGMA journal_mode = WAL");
      statement.step();
      const std::string mode = statement.text("journal_mode");
      if (mode != "wal" && mode != "memory") {
        logger()->warn("{}: write-ahead logging is not available here (journal mode {}); expected a local disk",
                       database.label(), mode);
      }
      return;
    } catch (const StoreError&) {
      if (sqlite3_errcode(database.handle()) != SQLITE_BUSY || std::chrono::steady_clock::now() > deadline) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
}

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

/// What changes with a file that a writer has left. While one is at work there is a log.
using FileState = std::array<std::int64_t, 5>;

/// nullopt if there is no such file.
std::optional<FileState> state_of(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileState{std::int64_t(status.st_dev), std::int64_t(status.st_ino), std::int64_t(status.st_size),
                   std::int64_t(status.st_mtim.tv_sec), std::int64_t(status.st_mtim.tv_nsec)};
}

/// Reads as if nobody could change the file, without locks and files beside it, and opens it anew when somebody did.
Database open_without_locks(const fs::path& path, const fs::path& real) {
  const std::optional<FileState> before = state_of(real);
  Database database(file_uri(real, "?immutable=1&mode=ro"), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, path.string());
  // By its name: a link may lead elsewhere by then.
  database.renew_by([file = fs::absolute(path), before]() -> std::optional<Database> {
    const std::optional<FileState> now = state_of(file);
    if (!now || (now == before && !has_log(real_path(file)))) return std::nullopt;  // a removed file stays what it was
    return open_for_reading(file);
  });
  return database;
}

/// What this user cannot write, others may. With their log and its index beside it SQLite reads it as any other; where there are none
/// it could not make them, or they would be files that bar the others. A log must not be passed over.
Database open_unwritable(const fs::path& path, const fs::path& real, bool of_wal) {
  if (!of_wal || has_log(real) || is_there(beside(real, "-shm"))) {
    try {
      Database database(file_uri(real, "?mode=ro"), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, path.string());
      schema_version(database);  // the first read opens the log
      return database;
    } catch (const StoreError&) {
      if (has_log(real)) {
        refuse(path, fmt::format("its log {} holds entries that cannot be read here: open it once where it is writable",
                                 name_of_log(path, real)));
      }
      if (!of_wal) throw;
    }
  }
  return open_without_locks(path, real);
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

Database open_in_some_way(const fs::path& path, const fs::path& real, bool of_wal) {
  if (writable(real) && writable(folder_of(real))) {
    // Opened for writing by name but barred from it by query_only: SQLite then removes its -wal and -shm files at the end, which a
    // connection of mode=ro leaves behind. A log in which a writer has left something is the next writer's.
    Database database(real.string(), SQLITE_OPEN_READWRITE, path.string());
    database.execute("PRAGMA query_only = 1");
    database.keep_log_on_close(true);
    if (has_log(real) || has_room(database)) return database;
  }
  return open_unwritable(path, real, of_wal);
}

bool is_ours(const Database& database) {
  return single_integer(database, "PRAGMA application_id", "application_id") == kApplicationId;
}

/// Whether the file is a sound database of ours without what is in its log.
bool is_sound_alone(const fs::path& real) {
  try {
    const Database alone(file_uri(real, "?immutable=1&mode=ro"), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, real.string());
    Statement check(alone, "PRAGMA quick_check(1)");
    return check.step() && check.text("quick_check") == "ok" && is_ours(alone) && schema_version(alone) <= kSchemaVersion;
  } catch (const StoreError&) {
    return false;
  }
}

bool is_newer(const Database& database) {
  try {
    return is_ours(database) && schema_version(database) > kSchemaVersion;
  } catch (const StoreError&) {
    return false;
  }
}

/// Checks the contents with what is in the log. That is told to be another database's only where the file is sound without it: a log may
/// hold what a program that is running has recorded, and all that is wrong may be the file.
int check_with_log(const Database& database, const fs::path& path, const fs::path& real, bool had_log) {
  try {
    return check_contents(database, path, false);
  } catch (const Refusal& refusal) {
    if (!had_log || is_newer(database) || !is_sound_alone(real)) throw;
    throw Refusal(fmt::format("{}; its log {} may belong to another database: end all programs that use it, then move it away",
                              refusal.what(), name_of_log(path, real)));
  }
}

}  // namespace

Database open_for_writing(const fs::path& path) {
  if (path.empty()) throw StoreError("a database without a name: expected the name of a file");
  const fs::path real = real_path(path);
  const bool existed = is_there(path);
  if (existed) {
    // A rollback journal means that a creation was cut short: the header is then SQLite's to mend first.
    if (size_or_zero(beside(real, "-journal")) == 0) check_header(path, read_header(path));
    if (!writable(path)) refuse(path, "is not writable: expected a database that can be written");
  }
  const fs::path folder = folder_of(real);
  if (!fs::is_directory(folder)) refuse(path, fmt::format("there is no folder {}: expected one", folder.string()));
  if (!writable(folder)) refuse(path, fmt::format("the folder {} is not writable: expected one that is", folder.string()));

  const bool had_log = existed && has_log(real);
  // An absolute path never reads as a URI or as one of SQLite's special names.
  Database database(real.string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, path.string());
  // A log of another database must not get into this file when a refused connection ends.
  if (had_log) database.keep_log_on_close(true);
  if (existed) check_with_log(database, path, real, had_log);
  database.keep_log_on_close(false);
  database.execute("PRAGMA foreign_keys = ON");
  // In this order: the schema is one transaction of a rollback journal, so that a creation cut short leaves a file that
  // is empty or whole.
  migrate(database);
  switch_to_wal(database);
  database.execute("PRAGMA synchronous = FULL");  // an acknowledged entry survives a power cut
  return database;
}

Database open_for_reading(const fs::path& path) {
  if (!is_there(path)) refuse(path, fmt::format("there is no such file: {}", kExpected));
  const FileHeader header = read_header(path);
  const fs::path real = real_path(path);
  const bool had_log = has_log(real);
  if (header.empty && !had_log) refuse(path, fmt::format("is empty: {}", kExpected));
  check_header(path, header);
  Database database = open_in_some_way(path, real, header.of_wal);
  const int version = read_unchanged(database, [&] { return check_with_log(database, path, real, had_log); });
  if (version == 0) refuse(path, fmt::format("has no tables yet: {}", kExpected));
  return database;  // of an older version as it is: reading does without what came since (migrations.cpp)
}

Database open_in_memory() {
  Database database(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "in-memory database");
  database.execute("PRAGMA foreign_keys = ON");
  migrate(database);
  return database;
}

}  // namespace tilesmith::db
