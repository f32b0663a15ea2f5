// SQLite's C interface as three move-only owners: Database, Statement, Transaction.
//
// Errors: StoreError, one line: the database's label (its path), what failed, SQLite's words.
// Lifetime: a Statement or Transaction must end before its Database does, and the Database must not move meanwhile.
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <variant>
#include <vector>

#include "db/store/error.hpp"

namespace tilesmith::db {

class Database {
 public:
  /// `location` is a path or a "file:" URI; `flags` are SQLITE_OPEN_*; `label` names the database in errors.
  Database(const std::string& location, int flags, std::string label);

  sqlite3* handle() const { return handle_.get(); }
  const std::string& label() const { return label_; }

  /// How long to wait for another process that holds the database locked: at first so long.
  static constexpr std::chrono::seconds kPatience{30};
  void set_patience(std::chrono::milliseconds patience);

  /// One or more statements without results.
  void execute(const std::string& sql) const;
  std::int64_t last_insert_id() const { return sqlite3_last_insert_rowid(handle()); }
  /// Rows that the last INSERT, UPDATE or DELETE changed.
  int changes() const { return sqlite3_changes(handle()); }

  /// Throws if the file is no longer the one of its name: what would be written now nobody would find.
  void require_in_place() const;

  /// For a file that is read without locks: `fresh` opens it anew if it has changed since. It is asked before each
  /// read.
  void renew_by(std::function<std::optional<Database>()> fresh) { fresh_ = std::move(fresh); }
  /// Asks it. True: it has changed, and is read by another connection from now on.
  bool renewed() const;
  /// SQLite is to leave the log where it is when the last connection ends, unless it is empty.
  void keep_log_on_close(bool keep) const;

  /// Takes into the file what is in its log, as far as nobody reads or writes it just now; waits for nobody.
  void write_log_back() const noexcept;

  /// Throws SQLite's last error as a StoreError.
  [[noreturn]] void fail(std::string_view doing) const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const noexcept;
  };
  mutable std::unique_ptr<sqlite3, Close> handle_;
  mutable std::function<std::optional<Database>()> fresh_;
  std::string label_;
  std::chrono::milliseconds patience_{0};
};

/// What `read` returns; it reads again where the file changed in the meantime.
template <typename Read>
auto read_unchanged(const Database& database, Read&& read) {
  constexpr int kMostTries = 5;
  for (int tries = 0; tries < kMostTries; ++tries) {
    database.renewed();
    try {
      auto result = read();
      if (!database.renewed()) return result;
    } catch (const StoreError&) {
      if (!database.renewed()) throw;
    }
  }
  throw StoreError(database.label() + ": changes again and again while it is read: expected it to stay for a moment");
}

/// A value to bind, when its type is only known at run time.
using Value = std::variant<std::nullptr_t, std::int64_t, double, std::string>;

class Statement {
 public:
  /// Exactly one statement.
  Statement(const Database& database, std::string_view sql);

  /// Binds by position (from 1) or by name (":text"). Throws if there is no such parameter. Text and blobs are copied.
  template <typename T>
  Statement& bind(int position, const T& value) {
    if constexpr (std::is_same_v<T, Value>) {
      std::visit([&](const auto& held) { bind(position, held); }, value);
    } else if constexpr (std::is_null_pointer_v<T>) {
      check_bound(sqlite3_bind_null(handle(), position));
    } else if constexpr (std::is_integral_v<T>) {
      check_bound(sqlite3_bind_int64(handle(), position, std::int64_t(value)));
    } else if constexpr (std::is_floating_point_v<T>) {
      check_bound(sqlite3_bind_double(handle(), position, double(value)));
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      const std::string_view text = value;  // a null pointer would bind NULL; an empty view may hold one
      check_bound(sqlite3_bind_text64(
          handle(), position, text.empty() ? "" : text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
    } else {
      const std::span<const std::byte> bytes(value);
      check_bound(sqlite3_bind_blob64(handle(), position, bytes.empty() ? "" : static_cast<const void*>(bytes.data()),
          bytes.size(), SQLITE_TRANSIENT));
    }
    return *this;
  }
  template <typename T>
  Statement& bind(const char* parameter, const T& value) {
    return bind(position_of(parameter), value);
  }
  /// Binds positions 1, 2, ... in order.
  template <typename... T>
  Statement& bind_all(const T&... values) {
    int position = 0;
    (bind(++position, values), ...);
    return *this;
  }

  /// True: there is a row; false: done.
  bool step();
  /// Steps to the end and resets: for statements without results.
  void run();
  void reset();
  /// As it was prepared, to be used again.
  void clear();

  /// Columns of the current row, by name. Throws if there is no such column.
  std::int64_t integer(std::string_view column) const { return sqlite3_column_int64(handle(), index_of(column)); }
  double real(std::string_view column) const { return sqlite3_column_double(handle(), index_of(column)); }
  std::string text(std::string_view column) const;
  std::vector<std::byte> blob(std::string_view column) const;
  bool is_null(std::string_view column) const;

  sqlite3_stmt* handle() const { return handle_.get(); }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const noexcept { sqlite3_finalize(handle); }
  };
  int position_of(const char* parameter) const;
  int index_of(std::string_view column) const;
  void check_bound(int code);

  const Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
  std::unordered_map<std::string_view, int> columns_;  // keys are SQLite's own strings
};

/// A transaction that rolls back unless committed. Name it: an unnamed one ends at once.
class [[nodiscard]] Transaction {
 public:
  enum class Kind { read, write };  ///< write takes the write lock at once, so that it cannot fail halfway
  explicit Transaction(const Database& database, Kind kind = Kind::write);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  const Database* database_;
  bool open_ = true;
};

}  // namespace tilesmith::db
