#include "db/store/free_query.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "db/store/store_access.hpp"

namespace tilesmith::db {
namespace {

/// Pragmas that only tell. One with an argument sets something, unless it is asked of a table.
constexpr std::array<std::string_view, 10> kTellingPragmas = {"table_info", "table_xinfo", "table_list", "index_list",
    "index_info", "foreign_key_list", "user_version", "application_id", "journal_mode", "integrity_check"};
constexpr std::size_t kPragmasOfTables = 6;

/// Lets a statement be prepared only if all it does is read.
int authorize_reading(void*, int action, const char* first, const char* second, const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_FUNCTION:
      return second != nullptr && std::string_view(second) == "load_extension" ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_PRAGMA: {
      const auto* found =
          std::find(kTellingPragmas.begin(), kTellingPragmas.end(), std::string_view(first ? first : ""));
      if (found == kTellingPragmas.end()) return SQLITE_DENY;
      return second == nullptr || std::size_t(found - kTellingPragmas.begin()) < kPragmasOfTables ? SQLITE_OK
                                                                                                  : SQLITE_DENY;
    }
    default: return SQLITE_DENY;
  }
}

/// The authorizer stands while this lives.
class ReadingOnly {
 public:
  explicit ReadingOnly(const Database& database) : database_(database) {
    sqlite3_set_authorizer(database.handle(), &authorize_reading, nullptr);
  }
  ~ReadingOnly() { sqlite3_set_authorizer(database_.handle(), nullptr, nullptr); }
  ReadingOnly(const ReadingOnly&) = delete;
  ReadingOnly& operator=(const ReadingOnly&) = delete;

 private:
  const Database& database_;
};

SqlValue value_of(sqlite3_stmt* statement, int column) {
  SqlValue value;
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL: return value;
    case SQLITE_BLOB:
      value.type = SqlValue::Type::blob;
      value.text = fmt::format("<{} bytes>", sqlite3_column_bytes(statement, column));
      return value;
    case SQLITE_INTEGER:
      value.type = SqlValue::Type::integer;
      value.integer = sqlite3_column_int64(statement, column);
      break;
    case SQLITE_FLOAT:
      value.type = SqlValue::Type::real;
      value.real = sqlite3_column_double(statement, column);
      break;
    default: value.type = SqlValue::Type::text;
  }
  if (const unsigned char* text = sqlite3_column_text(statement, column))
    value.text.assign(reinterpret_cast<const char*>(text), std::size_t(sqlite3_column_bytes(statement, column)));
  return value;
}

constexpr std::string_view kBestTable = R"(
SELECT problems.type, problems.trans, problems.m, problems.n, problems.k,
       devices.name AS device, devices.power_mode,
       configs.family, configs.text AS config,
       records.median_us,
       2.0 * problems.m * problems.n * problems.k / records.median_us / 1e6 AS tflops,
       records.spread, records.samples, records.clock_mhz, records.temperature_c, records.power_w,
       environments.driver_version AS driver, environments.nvrtc_version AS nvrtc, records.plan_hash,
       environments.measuring_policy AS policy,
       records.origin, records.run, records.created_at,
       problems.text AS problem, devices.key AS device_key, records.id AS record_id, trust,
       vendor_times.first_us AS vendor_us, vendor_times.best_us AS vendor_best_us, vendor_times.id AS vendor_id
FROM chosen
JOIN records ON records.id = chosen.id
JOIN problems ON problems.id = records.problem_id
JOIN configs ON configs.id = records.config_id
JOIN devices ON devices.id = records.device_id
JOIN environments ON environments.id = records.environment_id
LEFT JOIN vendor_times ON vendor_times.id = chosen.vendor
ORDER BY chosen.place)";

/// A temporary table, which lies in memory beside the database, whether that may be written or not.
void make_best_table(const Store& store, const Database& database, const std::vector<JudgedBest>& bests) {
  std::string chosen = "(0, 0, '', NULL)";  // no entry
  for (std::size_t i = 0; i < bests.size(); ++i) {
    const JudgedBest& best = bests[i];
    chosen += fmt::format(", ({}, {}, '{}', {})", i + 1, best.record.id, best.trust,
        best.vendor ? std::to_string(best.vendor->id) : "NULL");
  }
  database.execute(
      fmt::format("PRAGMA query_only = 0; PRAGMA temp_store = MEMORY; DROP TABLE IF EXISTS temp.best; "
                  "CREATE TEMP TABLE best AS WITH chosen (place, id, trust, vendor) AS (VALUES {}) {}",
          chosen, kBestTable));
  if (store.read_only()) database.execute("PRAGMA query_only = 1");
}

SqlResult query_once(const Database& database, const std::string& sql) {
  sqlite3_stmt* raw = nullptr;
  const char* tail = nullptr;
  int code = SQLITE_OK;
  {
    const ReadingOnly guard(database);
    code = sqlite3_prepare_v2(database.handle(), sql.c_str(), int(sql.size() + 1), &raw, &tail);
  }
  const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(raw, &sqlite3_finalize);
  if (code == SQLITE_AUTH)
    throw StoreError("--sql: the statement would change something: expected one that only reads");
  if (code != SQLITE_OK)
    throw StoreError(fmt::format("--sql: {}: expected one SELECT", sqlite3_errmsg(database.handle())));
  if (raw == nullptr) throw StoreError("--sql: found no statement: expected one SELECT");
  if (sqlite3_stmt_readonly(raw) == 0) {
    throw StoreError("--sql: the statement would change something: expected one that only reads");
  }
  if (std::string_view(tail).find_first_not_of(" \t\r\n;") != std::string_view::npos) {
    throw StoreError("--sql: found a second statement: expected one SELECT");
  }

  SqlResult result;
  const int columns = sqlite3_column_count(raw);
  for (int i = 0; i < columns; ++i) result.columns.emplace_back(sqlite3_column_name(raw, i));
  for (;;) {
    code = sqlite3_step(raw);
    if (code == SQLITE_DONE) return result;
    if (code != SQLITE_ROW) throw StoreError(fmt::format("--sql: {}", sqlite3_errmsg(database.handle())));
    std::vector<SqlValue>& row = result.rows.emplace_back();
    for (int i = 0; i < columns; ++i) row.push_back(value_of(raw, i));
  }
}

}  // namespace

SqlResult free_query(const Store& store, const std::string& sql, const std::vector<JudgedBest>* bests) {
  const Database& database = StoreAccess::database(store);
  return read_unchanged(database, [&] {
    if (bests != nullptr) make_best_table(store, database, *bests);
    return query_once(database, sql);
  });
}

}  // namespace tilesmith::db
