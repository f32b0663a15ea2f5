// Databases of former versions, for the tests of db/.
#pragma once

#include <string>

#include "db/sqlite.hpp"

namespace tilesmith::db::test {

/// A database as schema 7 had it.
inline void forget_vendor(const Database& database) { database.execute("DROP TABLE vendor_beside; DROP TABLE vendor_times"); }

/// Without the vendor's times, and kernels as they were until schema 7: with type and transposes in columns of their own.
inline void split_signatures(const Database& database) {
  forget_vendor(database);
  database.execute(
      "CREATE TABLE split (id INTEGER PRIMARY KEY, config_id INTEGER NOT NULL REFERENCES configs (id), type TEXT NOT NULL, "
      "trans TEXT NOT NULL, arch TEXT NOT NULL, kernel_hash TEXT NOT NULL, compiler_options TEXT NOT NULL, nvrtc_version TEXT NOT NULL, "
      "UNIQUE (config_id, type, trans, arch, kernel_hash, compiler_options, nvrtc_version)) STRICT; "
      "INSERT INTO split SELECT id, config_id, substr(signature, 1, instr(signature, ' ') - 1), substr(signature, instr(signature, ' ') + 1), "
      "arch, kernel_hash, compiler_options, nvrtc_version FROM kernels; "
      "DROP TABLE kernels; ALTER TABLE split RENAME TO kernels");
}

/// A database as schema 4 had it, all of its entries and kernels of this template. Its views go, since they name what is changed.
inline void make_former(const Database& database, const std::string& template_hash = "former") {
  split_signatures(database);
  database.execute(
      "DROP VIEW IF EXISTS best; DROP VIEW latest; UPDATE evidence SET plan_hash = 'of machine code'; "
      "ALTER TABLE kernels RENAME COLUMN kernel_hash TO template_hash; UPDATE kernels SET template_hash = '" + template_hash + "'; "
      "CREATE TABLE former (id INTEGER PRIMARY KEY, template_hash TEXT NOT NULL, compiler_options TEXT NOT NULL, nvrtc_version TEXT NOT NULL, "
      "driver_version TEXT NOT NULL, measuring_policy TEXT NOT NULL, "
      "UNIQUE (template_hash, compiler_options, nvrtc_version, driver_version, measuring_policy)) STRICT; "
      "INSERT INTO former SELECT id, '" + template_hash + "', compiler_options, nvrtc_version, driver_version, measuring_policy FROM producers; "
      "DROP TABLE producers; ALTER TABLE former RENAME TO producers; CREATE VIEW latest AS SELECT * FROM evidence; "
      "CREATE VIEW best AS SELECT template_hash FROM latest JOIN producers ON producers.id = producer_id; PRAGMA user_version = 4");
}

}  // namespace tilesmith::db::test
