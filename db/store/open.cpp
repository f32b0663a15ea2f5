#include "db/store/open.hpp"

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <system_error>
#include <thread>

#include "db/files/bundle.hpp"
#include "db/files/compress.hpp"
#include "db/files/files.hpp"
#include "db/store/logger.hpp"
#include "db/store/schema.hpp"

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
  if (begins_as_bundle(bytes) || is_zstd(bytes) || bytes.starts_with('{')) {
    refuse(path, fmt::format("is a {}: {}; `tilesmith import` reads it into one",
                     begins_as_bundle(bytes) ? "bundle" : "recording or a JSON export", kExpected));
  }
  if (bytes.size() < kHeaderBytes || !bytes.starts_with(kSqliteMagic)) {
    refuse(path, fmt::format("is not an SQLite database: {}", kExpected));
  }
  return {
      .user_version = big_endian_32(&bytes[60]), .application_id = big_endian_32(&bytes[68]), .of_wal = bytes[18] == 2};
}

/// Refuses another program's database and another version; `user_version` 0: one whose creation was cut short.
void check_identity(const fs::path& path, std::int64_t application_id, std::int64_t user_version) {
  if (application_id != kApplicationId) {
    refuse(path,
        fmt::format("is another program's SQLite database (application id {:#x}): {}", application_id, kExpected));
  }
  if (user_version != 0 && user_version != kSchemaVersion) refuse(path, other_version(user_version));
}

void check_header(const fs::path& path, const FileHeader& header) {
  if (header.empty || (header.application_id == 0 && header.user_version == 0)) return;  // judged with SQLite's help
  check_identity(path, header.application_id, header.user_version);
}

std::int64_t single_integer(const Database& database, std::string_view sql, std::string_view column) {
  Statement statement(database, sql);
  return statement.step() ? statement.integer(column) : 0;
}

/// SQLite's first complaint about a damaged file, in one line; empty if it is sound.
std::string damage_of(const Database& database) {
  try {
    Statement check(database, "PRAGMA quick_check(1)");
    const std::string verdict = check.step() ? check.text("quick_check") : "ok";
    return verdict == "ok" ? "" : verdict.substr(0, verdict.find('\n'));
  } catch (const StoreError&) {
    const int code = sqlite3_errcode(database.handle());
    if (code != SQLITE_CORRUPT && code != SQLITE_NOTADB) throw;
    return sqlite3_errmsg(database.handle());
  }
}

/// The same checks with SQLite's eyes, which also see what is still in the write-ahead log. Returns the version.
int check_contents(const Database& database, const fs::path& path) {
  if (const std::string damage = damage_of(database); !damage.empty()) {
    refuse(path,
        fmt::format("the database is corrupt ({}): expected a sound one; restore it or merge from a copy", damage));
  }
  // All of one moment: another process may be making the tables.
  const Transaction snapshot(database, Transaction::Kind::read);
  const std::int64_t application = single_integer(database, "PRAGMA application_id", "application_id");
  const int version = schema_version(database);
  if (application == 0 && version == 0) {
    if (single_integer(database, "SELECT count(*) AS tables FROM sqlite_master", "tables") == 0) return 0;
    refuse(path, fmt::format("is another program's SQLite database: {}", kExpected));
  }
  check_identity(path, application, version);
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

bool is_ours(const Database& database) {
  return single_integer(database, "PRAGMA application_id", "application_id") == kApplicationId;
}

/// Whether the file is a sound database of ours without what is in its log.
bool is_sound_alone(const fs::path& real) {
  try {
    const Database alone = open_immutable(real, real);
    return damage_of(alone).empty() && is_ours(alone) && schema_version(alone) == kSchemaVersion;
  } catch (const StoreError&) {
    return false;
  }
}

bool has_other_version(const Database& database) {
  try {
    return is_ours(database) && schema_version(database) != kSchemaVersion;
  } catch (const StoreError&) {
    return false;
  }
}

/// Checks the contents with what is in the log. That is told to be another database's only where the file is sound
/// without it: a log may hold what a program that is running has recorded, and all that is wrong may be the file.
int check_with_log(const Database& database, const fs::path& path, const fs::path& real, bool had_log) {
  try {
    return check_contents(database, path);
  } catch (const Refusal& refusal) {
    if (!had_log || has_other_version(database) || !is_sound_alone(real)) throw;
    throw Refusal(
        fmt::format("{}; its log {} may belong to another database: end all programs that use it, then move it away",
            refusal.what(), name_of_log(path, real)));
  }
}

}  // namespace

Database open_for_writing(const fs::path& path, const AskFileSystem& ask) {
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
  if (!writable(folder))
    refuse(path, fmt::format("the folder {} is not writable: expected one that is", folder.string()));
  if (const auto network = network_name(ask(folder))) {
    refuse(path,
        fmt::format(
            "lies in {}, where hosts that write together lose entries: expected a local disk (--db, TILESMITH_DB); "
            "bring databases of several hosts together there with `tilesmith merge`",
            *network));
  }

  const bool had_log = existed && has_log(real);
  // An absolute path never reads as a URI or as one of SQLite's special names.
  Database database(real.string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, path.string());
  // A log of another database must not get into this file when a refused connection ends.
  if (had_log) database.keep_log_on_close(true);
  if (existed) check_with_log(database, path, real, had_log);
  database.keep_log_on_close(false);
  // In this order: the schema is one transaction of a rollback journal, so that a creation cut short leaves a file that
  // is empty or whole.
  create_schema(database);
  database.execute("PRAGMA foreign_keys = ON");
  switch_to_wal(database);
  database.execute("PRAGMA synchronous = FULL");  // an acknowledged entry survives a power cut
  return database;
}

Database open_for_reading(const fs::path& path, const AskFileSystem& ask) {
  if (!is_there(path)) refuse(path, fmt::format("there is no such file: {}", kExpected));
  const FileHeader header = read_header(path);
  const fs::path real = real_path(path);
  const bool had_log = has_log(real);
  if (header.empty && !had_log) refuse(path, fmt::format("is empty: {}", kExpected));
  check_header(path, header);
  Database database = open_in_some_way(path, real, header.of_wal, ask);
  const int version = read_unchanged(database, [&] { return check_with_log(database, path, real, had_log); });
  if (version == 0) refuse(path, fmt::format("has no tables yet: {}", kExpected));
  return database;
}

Database open_in_memory() {
  Database database(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "in-memory database");
  database.execute("PRAGMA foreign_keys = ON");
  create_schema(database);
  return database;
}

}  // namespace tilesmith::db
