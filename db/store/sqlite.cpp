#include "db/store/sqlite.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "db/store/logger.hpp"

namespace tilesmith::db {
namespace {

std::string without_line_ends(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string message_of(sqlite3* handle, std::chrono::duration<double> patience) {
  switch (sqlite3_errcode(handle)) {
    case SQLITE_BUSY: return fmt::format("another process has held the database locked for {} s", patience.count());
    case SQLITE_READONLY: return "it was opened for reading only, or cannot be written";
    case SQLITE_FULL: return "the disk is full";
    default: return without_line_ends(sqlite3_errmsg(handle));
  }
}

bool log_is_empty(sqlite3* handle) {
  const char* const file = sqlite3_db_filename(handle, "main");
  if (file == nullptr || *file == '\0') return true;  // in memory
  struct stat status {};
  return ::stat(sqlite3_filename_wal(file), &status) != 0 || status.st_size == 0;
}

}  // namespace

void Database::Close::operator()(sqlite3* handle) const noexcept {
  int keeps_log = 0;
  sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, -1, &keeps_log);
  // Of an empty one SQLite has nothing to write into the database: it only removes the files that it made beside it.
  if (keeps_log != 0 && log_is_empty(handle)) sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
  // The _v2 close never fails: it waits for statements that are still open.
  sqlite3_close_v2(handle);
}

Database::Database(const std::string& location, int flags, std::string label) : label_(std::move(label)) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(location.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(raw);
  if (raw == nullptr) throw StoreError(fmt::format("{}: out of memory", label_));
  if (code != SQLITE_OK) fail("cannot open");
  sqlite3_extended_result_codes(raw, 0);
  set_patience(kPatience);
}

void Database::set_patience(std::chrono::milliseconds patience) {
  patience_ = patience;
  sqlite3_busy_timeout(handle(), int(patience.count()));
}

void Database::execute(const std::string& sql) const {
  if (sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail("cannot execute");
}

void Database::fail(std::string_view doing) const {
  throw StoreError(fmt::format("{}: {}: {}", label_, doing, message_of(handle(), patience_)));
}

bool Database::renewed() const {
  // Within a transaction or a statement it stays what it is.
  if (!fresh_ || sqlite3_get_autocommit(handle()) == 0 || sqlite3_next_stmt(handle(), nullptr) != nullptr) return false;
  std::optional<Database> fresh = fresh_();
  if (!fresh) return false;
  handle_ = std::move(fresh->handle_);
  fresh_ = std::move(fresh->fresh_);
  sqlite3_busy_timeout(handle(), int(patience_.count()));
  return true;
}

void Database::keep_log_on_close(bool keep) const {
  sqlite3_db_config(handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep ? 1 : 0, nullptr);
}

void Database::write_log_back() const noexcept {
  // What cannot be done now is the next writer's.
  sqlite3_wal_checkpoint_v2(handle(), "main", SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
}

void Database::require_in_place() const {
  int moved = 0;  // stays so in memory
  sqlite3_file_control(handle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  if (moved != 0)
    throw StoreError(fmt::format("{}: was moved, removed or replaced while open: expected it to stay", label_));
}

Statement::Statement(const Database& database, std::string_view sql) : database_(&database) {
  database.renewed();
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(database.handle(), sql.data(), int(sql.size()), &raw, nullptr) != SQLITE_OK) {
    database.fail("cannot prepare");
  }
  handle_.reset(raw);
  if (raw == nullptr) throw StoreError(fmt::format("{}: expected an SQL statement, found none", database.label()));
  for (int i = 0; i < sqlite3_column_count(raw); ++i) columns_.emplace(sqlite3_column_name(raw, i), i);
}

int Statement::position_of(const char* parameter) const {
  const int position = sqlite3_bind_parameter_index(handle(), parameter);
  if (position == 0)
    throw StoreError(fmt::format("{}: the statement has no parameter {}", database_->label(), parameter));
  return position;
}

int Statement::index_of(std::string_view column) const {
  const auto found = columns_.find(column);
  if (found == columns_.end())
    throw StoreError(fmt::format("{}: the result has no column {}", database_->label(), column));
  return found->second;
}

void Statement::check_bound(int code) {
  if (code != SQLITE_OK) database_->fail("cannot bind a value");
}

bool Statement::step() {
  const int code = sqlite3_step(handle());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  database_->fail("cannot read or write");
}

void Statement::run() {
  while (step()) {
  }
  reset();
}

void Statement::reset() { sqlite3_reset(handle()); }

void Statement::clear() {
  sqlite3_reset(handle());
  sqlite3_clear_bindings(handle());
}

std::string Statement::text(std::string_view column) const {
  const int index = index_of(column);
  const unsigned char* data = sqlite3_column_text(handle(), index);
  if (data == nullptr) return {};
  return {reinterpret_cast<const char*>(data), std::size_t(sqlite3_column_bytes(handle(), index))};
}

std::vector<std::byte> Statement::blob(std::string_view column) const {
  const int index = index_of(column);
  const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(handle(), index));
  if (data == nullptr) return {};
  return {data, data + sqlite3_column_bytes(handle(), index)};
}

bool Statement::is_null(std::string_view column) const {
  return sqlite3_column_type(handle(), index_of(column)) == SQLITE_NULL;
}

Transaction::Transaction(const Database& database, Kind kind) : database_(&database) {
  if (kind == Kind::write) database.require_in_place();
  else database.renewed();
  database.execute(kind == Kind::write ? "BEGIN IMMEDIATE" : "BEGIN DEFERRED");
}

Transaction::~Transaction() {
  if (!open_) return;
  // Some errors (disk full, ...) have rolled back already; there is then nothing left to do.
  if (sqlite3_get_autocommit(database_->handle()) != 0) return;
  if (sqlite3_exec(database_->handle(), "ROLLBACK", nullptr, nullptr, nullptr) != SQLITE_OK) {
    logger()->error("{}: cannot roll back: {}", database_->label(), sqlite3_errmsg(database_->handle()));
  }
}

void Transaction::commit() {
  database_->execute("COMMIT");
  open_ = false;
}

}  // namespace tilesmith::db
