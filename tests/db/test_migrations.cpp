#include "db/merge.hpp"
#include "db/migrations.hpp"

#include <array>

#include "db/open.hpp"
#include "db/trust.hpp"
#include "kernels/plan_hash.hpp"
#include "tests/catch.hpp"
#include "tests/db/bests.hpp"
#include "tests/db/former.hpp"
#include "tests/db/sample.hpp"

using namespace tilesmith;
using namespace tilesmith::db;
using namespace tilesmith::db::test;

namespace {

Database empty_database() { return {":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "test database"}; }

std::string column_names(const Database& database, const std::string& table) {
  Statement row(database, "SELECT group_concat(name, ' ') AS names FROM pragma_table_info('" + table + "')");
  row.step();
  return row.text("names");
}

constexpr const char* kSimtTemplate = "4d3b939e73001b6b3f94a47e9b5524c520645f7f886d7865c890c491e6328c70";

Evidence of_simt() {
  Evidence entry = right(10, *Config::parse("simt{block_m=64,block_n=64,block_k=16,thread_m=4,thread_n=4}"));
  entry.producer.compiler_options = compiler_options_text({entry.problem, *limits_for_arch("sm_90a")});
  return entry;
}

}  // namespace

TEST_CASE("a kernel of schema 6 is found by its signature, in a file opened for reading and in one that is migrated") {
  const TemporaryFolder folder;
  const KernelBuild build = sample_build();
  { Store::open(folder / "a.db").record_build(build); }
  {
    const Database database((folder / "a.db").string(), SQLITE_OPEN_READWRITE, "a.db");
    split_signatures(database);
    database.execute("PRAGMA user_version = 6");
  }
  KernelKey other = build.key;
  other.signature.trans = {true, true};
  const auto check = [&](const Store& store) {
    CHECK(store.find_build(build.key).has_value());
    CHECK_FALSE(store.find_build(other).has_value());
  };
  check(Store::open_read_only(folder / "a.db"));
  check(Store::open(folder / "a.db"));
  check(Store::open_read_only(folder / "a.db"));
}

TEST_CASE("an empty database of version 0 becomes one of the current version") {
  const Database database = empty_database();
  CHECK(schema_version(database) == 0);
  migrate(database);
  CHECK(schema_version(database) == kSchemaVersion);
  Statement id(database, "PRAGMA application_id");
  REQUIRE(id.step());
  CHECK(id.integer("application_id") == kApplicationId);
  migrate(database);  // again: nothing to do
  CHECK(schema_version(database) == kSchemaVersion);
}

TEST_CASE("an empty file becomes a database of the current version") {
  TemporaryFolder folder;
  spill(folder / "empty.db", "");
  Store store = Store::open(folder / "empty.db");
  CHECK(rows_of(store, "PRAGMA user_version").at(0).at(0) == std::to_string(kSchemaVersion));
}

TEST_CASE("an older database is taken through every step in order, and keeps its rows") {
  const Database database = empty_database();
  constexpr std::string_view kFirst = "CREATE TABLE t (a); PRAGMA user_version = 1;";
  constexpr std::array<Migration, 2> kSteps = {Migration{2, "ALTER TABLE t ADD COLUMN b"},
                                               Migration{3, "ALTER TABLE t ADD COLUMN c; UPDATE t SET c = a + 1"}};
  migrate(database, {1, kFirst, {}});
  database.execute("INSERT INTO t VALUES (41)");
  migrate(database, {3, "never used", kSteps});
  CHECK(schema_version(database) == 3);
  CHECK(column_names(database, "t") == "a b c");
  Statement row(database, "SELECT c FROM t");
  REQUIRE(row.step());
  CHECK(row.integer("c") == 42);
}

TEST_CASE("a migration that fails halfway leaves the database as it was") {
  const Database database = empty_database();
  constexpr std::array<Migration, 2> kSteps = {Migration{2, "ALTER TABLE t ADD COLUMN b"},
                                               Migration{3, "ALTER TABLE missing ADD COLUMN c"}};
  migrate(database, {1, "CREATE TABLE t (a); PRAGMA user_version = 1;", {}});
  CHECK_THROWS_AS(migrate(database, {3, "never used", kSteps}), StoreError);
  CHECK(schema_version(database) == 1);
  CHECK(column_names(database, "t") == "a");
}

TEST_CASE("a missing step and a newer database are refused") {
  const Database database = empty_database();
  migrate(database, {1, "PRAGMA user_version = 1;", {}});
  CHECK_THROWS_AS(migrate(database, {3, "never used", {}}), StoreError);
  database.execute("PRAGMA user_version = 9");
  const std::string error = store_error([&] { migrate(database, {3, "never used", {}}); });
  CHECK(contains(error, "9 is newer"));
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

TEST_CASE("a database of version 1 is read as it is, keeps its entries and takes new ones") {
  TemporaryFolder folder;
  {
    Store store = Store::open(folder / "a.db");
    store.record(right(10));
  }
  {
    const Database database((folder / "a.db").string(), SQLITE_OPEN_READWRITE, "a.db");
    make_former(database);
    database.execute("DROP VIEW best; DROP VIEW latest; ALTER TABLE evidence DROP COLUMN plan_hash; PRAGMA user_version = 1");
  }
  {
    const Store read = Store::open_read_only(folder / "a.db");  // as it is
    CHECK(rows_of(read, "PRAGMA user_version").at(0).at(0) == "1");
    REQUIRE(read.evidence().size() == 1);
    CHECK(read.evidence()[0].plan_hash == "former");
    CHECK(bests_of(read).at(0).evidence.outcome.timing->median_us == 10);
    Store into = Store::in_memory();
    CHECK(merge(into, read).added == 1);
  }
  Store store = Store::open(folder / "a.db");
  CHECK(rows_of(store, "PRAGMA user_version").at(0).at(0) == std::to_string(kSchemaVersion));
  REQUIRE(store.evidence().size() == 1);
  CHECK(store.evidence()[0].plan_hash == "former");
  Evidence with = right(9);
  with.plan_hash = std::string(32, 'a');
  store.record(with);
  CHECK(bests_of(store).at(0).evidence.plan_hash == with.plan_hash);
  CHECK(store.integrity_error().empty());
  // The same columns in the same order as in a new one: rows are copied from one to the other.
  const Store fresh = Store::in_memory();
  const auto columns = [](const Store& of) {
    std::string names;
    for (const char* table : {"evidence", "producers", "kernels"}) {
      for (const auto& row : rows_of(of, std::string("PRAGMA table_info(") + table + ")")) names.append(row.at(1)).append(" ");
    }
    return names;
  };
  CHECK(columns(store) == columns(fresh));
}

TEST_CASE("evidence and kernels of a family's last template are carried over, those of others stay retired") {
  for (const bool is_last : {true, false}) {
    TemporaryFolder folder;
    const Evidence entry = of_simt();
    KernelBuild build = sample_build(entry.config);
    build.key.compiler_options = entry.producer.compiler_options;
    Evidence other = entry;
    other.producer.driver_version = "590";
    {
      Store store = Store::open(folder / "a.db");
      store.record(entry);
      store.record(other);
      store.record_build(build);
    }
    {
      const Database database((folder / "a.db").string(), SQLITE_OPEN_READWRITE, "a.db");
      make_former(database, is_last ? kSimtTemplate : std::string(64, 'a'));
    }
    const std::string plan = plan_hash(entry.config, entry.problem, entry.producer.compiler_options);
    build.key.kernel_hash = kernel_hash(entry.config, {entry.problem.type, {}}, entry.producer.compiler_options);
    const auto check = [&](const Store& store) {
      for (const Evidence& one : store.evidence()) {
        CHECK(one.plan_hash == (is_last ? plan : std::string(32, 'a')));
        CHECK(judge(one, one.producer) == (is_last ? Trust::valid : Trust::retired));
      }
      CHECK(store.evidence().size() == 2);
      CHECK(store.problems_since(0).size() == 1);
      CHECK(bests_of(store).size() == 1);
      CHECK(store.find_build(build.key).has_value() == is_last);
    };
    check(Store::open_read_only(folder / "a.db"));  // which leaves it as it is
    CHECK(rows_of(Store::open_read_only(folder / "a.db"), "PRAGMA user_version").at(0).at(0) == "4");
    const Store store = Store::open(folder / "a.db");
    check(store);
    CHECK(store.integrity_error().empty());
  }
}
