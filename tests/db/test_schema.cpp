// The schema, and the statements and transactions that everything in db/ rests on.
#include "db/store/schema.hpp"

#include "tests/catch.hpp"
#include "tests/db/sample.hpp"

using namespace tilesmith;
using namespace tilesmith::db;
using namespace tilesmith::db::test;

namespace {

Database empty_database() { return {":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "test database"}; }

}  // namespace

TEST_CASE("an empty database of version 0 becomes one of the current version") {
  const Database database = empty_database();
  CHECK(schema_version(database) == 0);
  create_schema(database);
  CHECK(schema_version(database) == kSchemaVersion);
  Statement id(database, "PRAGMA application_id");
  REQUIRE(id.step());
  CHECK(id.integer("application_id") == kApplicationId);
  create_schema(database);  // again: nothing to do
  CHECK(schema_version(database) == kSchemaVersion);
}

TEST_CASE("a schema that cannot be made whole leaves the database as it was") {
  const Database database = empty_database();
  database.execute("CREATE TABLE records (a)");
  CHECK_THROWS_AS(create_schema(database), StoreError);
  CHECK(schema_version(database) == 0);
  Statement tables(database, "SELECT group_concat(name) AS names FROM sqlite_master");
  REQUIRE(tables.step());
  CHECK(tables.text("names") == "records");
}

TEST_CASE("no schema is made in a database of another version") {
  for (const int version : {-1, 2, 8}) {
    const Database database = empty_database();
    database.execute("PRAGMA user_version = " + std::to_string(version));
    const std::string error = store_error([&] { create_schema(database); });
    CHECK(error ==
          "test database: database schema version " + std::to_string(version) + " is not this program's: expected 1");
    CHECK(schema_version(database) == version);
  }
}

TEST_CASE("the tables of a shipped database are those of the schema, and refer to rows that are there") {
  const Store fresh = Store::in_memory();
  for (const auto& [name, problems] : {std::pair{"h100.db", "646"}, {"h200.db", "937"}}) {
    const Store shipped = Store::open_read_only(std::string(TILESMITH_SOURCE_DIR) + "/db/recorded/" + name);
    INFO(name);
    constexpr const char* kTables =
        "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name";
    CHECK(rows_of(shipped, kTables) == rows_of(fresh, kTables));
    CHECK(rows_of(shipped, "PRAGMA user_version").at(0).at(0) == std::to_string(kSchemaVersion));
    CHECK(rows_of(shipped, "SELECT count(*) FROM problems").at(0).at(0) == problems);
    for (const std::string table : {"records", "vendor_beside"})
      CHECK(rows_of(shipped, "SELECT count(*) FROM " + table + " WHERE config_id NOT IN (SELECT id FROM configs)")
                .at(0)
                .at(0) == "0");
  }
}

TEST_CASE("an empty file becomes a database of the current version") {
  TemporaryFolder folder;
  spill(folder / "empty.db", "");
  Store store = Store::open(folder / "empty.db");
  CHECK(rows_of(store, "PRAGMA user_version").at(0).at(0) == std::to_string(kSchemaVersion));
}

TEST_CASE("a transaction that is not committed is rolled back") {
  const Database database = empty_database();
  database.execute("CREATE TABLE t (a)");
  {
    const Transaction transaction(database);
    database.execute("INSERT INTO t VALUES (1)");
  }
  {
    Transaction transaction(database);
    database.execute("INSERT INTO t VALUES (2)");
    transaction.commit();
  }
  Statement row(database, "SELECT sum(a) AS total FROM t");
  REQUIRE(row.step());
  CHECK(row.integer("total") == 2);
}

TEST_CASE("values are bound by name and by position, and an unknown name is refused") {
  const Database database = empty_database();
  Statement row(database, "SELECT :text AS text, :number AS number, :real AS real, :none AS none");
  row.bind(":text", "a'b").bind(":number", 7).bind(4, nullptr).bind(":real", 0.5);
  REQUIRE(row.step());
  CHECK(row.text("text") == "a'b");
  CHECK(row.integer("number") == 7);
  CHECK(row.real("real") == 0.5);
  CHECK(row.is_null("none"));
  CHECK_THROWS_AS(row.text("missing"), StoreError);
  Statement other(database, "SELECT :a");
  CHECK_THROWS_AS(other.bind(":b", 1), StoreError);
}
