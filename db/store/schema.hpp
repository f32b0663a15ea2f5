// The database's schema and its version.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "db/store/sqlite.hpp"

namespace tilesmith::db {

/// schema.sql, embedded at build time.
extern const std::string_view kSchemaSql;

/// What schema.sql sets as user_version and application_id (a test compares them).
inline constexpr int kSchemaVersion = 1;
inline constexpr std::int64_t kApplicationId = 0x5453474d;  // "TSGM"

/// 0: an empty database, without a single table.
int schema_version(const Database& database);

/// Why a database of this version is refused, in one line.
std::string other_version(std::int64_t version);

/// Makes the tables of an empty database (version 0), in one transaction. Does nothing to one of this version, and
/// throws StoreError on one of another.
void create_schema(const Database& database);

}  // namespace tilesmith::db
