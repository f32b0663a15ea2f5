#include "db/migrations.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

namespace tilesmith::db {

namespace {

/// The part of schema.sql that makes all views anew, as they are today: what a view names is looked up only when it is asked, so that
/// it may be what a later step adds.
std::string_view views() { return kSchemaSql.substr(kSchemaSql.find("DROP VIEW IF EXISTS")); }

/// Of a candidate's entries the one with the highest id counts.
std::string_view entries_by_order() {
  static const std::string sql =
      "DROP INDEX IF EXISTS evidence_by_candidate; "
      "CREATE INDEX evidence_by_candidate ON evidence (problem_id, device_id, config_id); " +
      std::string(views());
  return sql;
}

}  // namespace

std::span<const Migration> migrations() {
  // A database that is opened for reading is not migrated: its rows are read without what a step adds.
  static const std::array kSteps = {
      Migration{2, "ALTER TABLE evidence ADD COLUMN plan_hash TEXT NOT NULL DEFAULT ''"},
      Migration{3, views()},
      Migration{4, entries_by_order()},
      Migration{5, "DROP VIEW IF EXISTS best"},  // it knew nothing of trust, and differed from what runs
  };
  static_assert(kSteps.size() + 1 == kSchemaVersion, "every version after the first needs its migration");
  return kSteps;
}

int schema_version(const Database& database) {
  Statement statement(database, "PRAGMA user_version");
  statement.step();
  return int(statement.integer("user_version"));
}

void migrate(const Database& database, const Schema& schema) {
  if (schema_version(database) == schema.version) return;
  Transaction transaction(database);
  int version = schema_version(database);  // again: another process may have been faster
  if (version > schema.version) {
    throw StoreError(fmt::format("{}: schema version {} is newer than this program's: expected at most {}",
                                 database.label(), version, schema.version));
  }
  if (version == 0) {
    database.execute(std::string(schema.sql));
    version = schema.version;
  }
  for (const Migration& step : schema.steps) {
    if (step.to_version != version + 1) continue;
    database.execute(std::string(step.sql));
    version = step.to_version;
    database.execute(fmt::format("PRAGMA user_version = {}", version));
  }
  if (version != schema.version) {
    throw StoreError(fmt::format("{}: no way leads from schema version {} to {}", database.label(), version,
                                 schema.version));
  }
  transaction.commit();
}

}  // namespace tilesmith::db
