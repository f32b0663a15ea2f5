#include "db/store/schema.hpp"

#include <fmt/format.h>

namespace tilesmith::db {

int schema_version(const Database& database) {
  Statement statement(database, "PRAGMA user_version");
  statement.step();
  return int(statement.integer("user_version"));
}

std::string other_version(std::int64_t version) {
  return fmt::format("database schema version {} is not this program's: expected {}", version, kSchemaVersion);
}

void create_schema(const Database& database) {
  if (schema_version(database) == kSchemaVersion) return;
  Transaction transaction(database);
  const int version = schema_version(database);  // again: another process may have been faster
  if (version == kSchemaVersion) return;
  // A step that turns an older version into the next goes here, into this transaction, once a released version has to
  // be kept. The checks in open.cpp, which refuse every version but this, then let that version pass for writing.
  if (version != 0) throw StoreError(fmt::format("{}: {}", database.label(), other_version(version)));
  database.execute(std::string(kSchemaSql));
  transaction.commit();
}

}  // namespace tilesmith::db
