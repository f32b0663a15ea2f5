#include "db/migrations.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "db/former_hashes.hpp"

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

/// Keys of what NVRTC gets and of plans, in the place of template hashes (former_hashes.hpp).
std::string_view plan_hashes() {
  static const std::string sql =
      "DROP VIEW IF EXISTS best; DROP VIEW IF EXISTS latest; "  // which name what is dropped here
      "UPDATE evidence SET plan_hash = carried_plan_hash((SELECT text FROM configs WHERE id = config_id), "
      "  (SELECT text FROM problems WHERE id = problem_id), (SELECT template_hash FROM producers WHERE id = producer_id), "
      "  (SELECT compiler_options FROM producers WHERE id = producer_id)); "
      "ALTER TABLE kernels RENAME COLUMN template_hash TO kernel_hash; "
      "UPDATE kernels SET kernel_hash = carried_kernel_hash((SELECT text FROM configs WHERE id = config_id), type, trans, kernel_hash, "
      "  compiler_options); "
      "CREATE TABLE producers_now (id INTEGER PRIMARY KEY, compiler_options TEXT NOT NULL, nvrtc_version TEXT NOT NULL, "
      "  driver_version TEXT NOT NULL, measuring_policy TEXT NOT NULL, "
      "  UNIQUE (compiler_options, nvrtc_version, driver_version, measuring_policy)) STRICT; "
      "INSERT INTO producers_now SELECT min(id), compiler_options, nvrtc_version, driver_version, measuring_policy FROM producers "
      "  GROUP BY compiler_options, nvrtc_version, driver_version, measuring_policy; "
      "UPDATE evidence SET producer_id = (SELECT now.id FROM producers_now AS now JOIN producers AS former "
      "  USING (compiler_options, nvrtc_version, driver_version, measuring_policy) WHERE former.id = producer_id); "
      "DROP TABLE producers; ALTER TABLE producers_now RENAME TO producers; " +
      std::string(views());
  return sql;
}

/// What told of the machine is no evidence (former_hashes.hpp): nothing was measured, and the candidates may be tried again.
std::string_view no_machine_failures() {
  static const std::string sql = [] {
    std::string all;
    for (const std::string_view table : {"evidence", "builds", "proofs"})
      all += fmt::format("DELETE FROM {} WHERE {}; ", table, kFailedByMachine);
    return all + std::string(views());
  }();
  return sql;
}

/// A kernel's signature in one column.
std::string_view signatures() {
  static const std::string sql =
      "CREATE TABLE kernels_now (id INTEGER PRIMARY KEY, config_id INTEGER NOT NULL REFERENCES configs (id), signature TEXT NOT NULL, "
      "  arch TEXT NOT NULL, kernel_hash TEXT NOT NULL, compiler_options TEXT NOT NULL, nvrtc_version TEXT NOT NULL, "
      "  UNIQUE (config_id, signature, arch, kernel_hash, compiler_options, nvrtc_version)) STRICT; "
      "INSERT INTO kernels_now SELECT id, config_id, type || ' ' || trans, arch, kernel_hash, compiler_options, nvrtc_version "
      "  FROM kernels; "
      "DROP TABLE kernels; ALTER TABLE kernels_now RENAME TO kernels; " +
      std::string(views());
  return sql;
}

}  // namespace

std::string_view vendor_tables_sql() {
  const std::size_t begin = kSchemaSql.find("CREATE TABLE vendor_times");
  return kSchemaSql.substr(begin, kSchemaSql.find("-- From here on views") - begin);
}

std::span<const Migration> migrations() {
  // A database that is opened for reading is not migrated: read_as_of_today() says what its rows would be.
  static const std::array kSteps = {
      Migration{2, "ALTER TABLE evidence ADD COLUMN plan_hash TEXT NOT NULL DEFAULT ''"},
      Migration{3, views()},
      Migration{4, entries_by_order()},
      Migration{5, plan_hashes()},
      Migration{6, no_machine_failures()},
      Migration{7, signatures()},
      Migration{8, vendor_tables_sql()},
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
  add_carrying_functions(database);
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
