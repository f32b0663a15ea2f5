// The schema, its version, and the way from every older version to it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "db/sqlite.hpp"

namespace tilesmith::db {

/// schema.sql, embedded at build time.
extern const std::string_view kSchemaSql;

/// What schema.sql sets as user_version and application_id (a test compares them).
inline constexpr int kSchemaVersion = 8;
inline constexpr std::int64_t kApplicationId = 0x5453474d;  // "TSGM"

/// One step: turns a database of the version before into `to_version`.
struct Migration {
  int to_version;
  std::string_view sql;
};

/// All steps from version 1 on, in order, one a version.
std::span<const Migration> migrations();

/// The part of schema.sql that makes the tables of vendor_times.hpp, which came with version 8.
std::string_view vendor_tables_sql();

struct Schema {
  int version = kSchemaVersion;
  std::string_view sql = kSchemaSql;
  std::span<const Migration> steps = migrations();
};

/// 0: an empty database, without a single table.
int schema_version(const Database& database);

/// Makes an empty database (version 0) the current one, or takes an older one there step by step, in one transaction.
/// Does nothing to a current one. Foreign keys must not be
/// enforced meanwhile. Throws StoreError on a newer one, or if a step is missing.
void migrate(const Database& database, const Schema& schema = {});

}  // namespace tilesmith::db
