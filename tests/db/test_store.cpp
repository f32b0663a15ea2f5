#include <fmt/format.h>

#include <limits>

#include "db/files/merge.hpp"
#include "db/store/schema.hpp"
#include "db/store/store.hpp"
#include "tests/catch.hpp"
#include "tests/db/bests.hpp"
#include "tests/db/sample.hpp"

using namespace tilesmith;
using namespace tilesmith::db;
using namespace tilesmith::db::test;

TEST_CASE("a recorded entry comes back whole") {
  Store store = Store::in_memory();
  Record entry = right(28.125, sample_config(3), sample_problem("bf16f32 TN 100 200 300 lda=112 align=8 beta=any"));
  entry.origin = "bench-7";
  entry.created_at = "2026-01-31T23:59:59Z";
  const std::int64_t id = store.record(entry);

  const std::vector<Record> all = store.records();
  REQUIRE(all.size() == 1);
  const Record& back = all[0];
  CHECK(back.id == id);
  CHECK(back.task.problem() == entry.task.problem());
  CHECK(back.config == entry.config);
  CHECK(back.device == entry.device);
  CHECK(back.environment == entry.environment);
  CHECK(back.outcome.status == Status::ok);
  CHECK(back.outcome.message.empty());
  REQUIRE(back.outcome.timing);
  CHECK(back.outcome.timing->median_us == 28.125);
  CHECK(back.outcome.timing->spread == 0.01);
  CHECK(back.outcome.timing->samples == 21);
  CHECK(back.outcome.timing->clock_mhz == 1980);
  CHECK(back.outcome.timing->temperature_c == 45.5);
  CHECK(back.outcome.timing->power_w == 320.25);
  CHECK(back.outcome.timing->drift == 1.002);
  CHECK(back.run == "run-1");
  CHECK(back.origin == "bench-7");
  CHECK(back.created_at == "2026-01-31T23:59:59.000Z");
}

TEST_CASE("records of one row, which differ in strides that mean nothing, are records of one problem") {
  Store store = Store::in_memory();
  Problem former = sample_problem("f16f32 NT 1 64 32");
  former.lda = 147200;  // as programs recorded it that took every stride for a part of the key
  store.record(right(20, sample_config(3), former));
  former.lda = 184064;
  store.record(right(10, sample_config(4), former));
  for (const Record& entry : store.records()) CHECK(text(entry.task.problem()) == "f16f32 NT 1 64 32");
  CHECK(store.records().size() == 2);
}

TEST_CASE("every status is stored and comes back with its message") {
  Store store = Store::in_memory();
  const Status failures[] = {Status::illegal, Status::compile_failed, Status::spilled, Status::launch_failed,
      Status::timed_out, Status::device_fault, Status::mismatch};
  for (const Status status : failures)
    store.record(failed(status, std::string("because of ") + std::string(name(status))));
  std::vector<Record> all = store.records();
  REQUIRE(all.size() == std::size(failures));
  std::reverse(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].outcome.status == failures[i]);
    CHECK(all[i].outcome.message == "because of " + std::string(name(failures[i])));
    CHECK_FALSE(all[i].outcome.timing);
  }
}

TEST_CASE("an entry that contradicts itself is not recorded") {
  Store store = Store::in_memory();
  Record untimed = right(1);
  untimed.outcome.timing.reset();
  CHECK_THROWS_AS(store.record(untimed), std::logic_error);
  Record timed_failure = right(1);
  timed_failure.outcome.status = Status::mismatch;
  CHECK_THROWS_AS(store.record(timed_failure), std::logic_error);
  for (const double wrong :
      {0.0, -1.0, 5e-324, 0.9e-6, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    CHECK_THROWS_AS(store.record(right(wrong)), std::logic_error);
  }
  Record no_spread = right(1);
  no_spread.outcome.timing->spread = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(store.record(no_spread), std::logic_error);
  Record no_config = right(1, Config("", {}));
  CHECK_THROWS_AS(store.record(no_config), std::logic_error);
  Record bad_problem = right(1);
  change_problem(bad_problem, [](Problem& problem) { problem.lda = 3; });
  CHECK_THROWS_AS(store.record(bad_problem), std::logic_error);
  Record bad_time = right(1);
  for (const char* wrong : {"yesterday", "2026-02-30T00:00:00.000Z", "2026-01-01T24:00:00Z"}) {
    bad_time.created_at = wrong;
    CHECK_THROWS_AS(store.record(bad_time), std::logic_error);
  }
  for (std::string Environment::*field : {&Environment::compiler_options, &Environment::nvrtc_version,
           &Environment::driver_version, &Environment::measuring_policy}) {
    Record two_lines = right(1);
    two_lines.environment.*field += "\n";
    CHECK_THROWS_AS(store.record(two_lines), std::logic_error);
  }
  Record two_lines = right(1);
  two_lines.device.power_mode = "MAXN\r";
  CHECK_THROWS_AS(store.record(two_lines), std::logic_error);
  CHECK(store.records().empty());
}

TEST_CASE("a message, a run and an origin are stored as one line, and kernels whose texts join alike are two") {
  Store store = Store::in_memory();
  store.record(failed(Status::compile_failed, "error:\n\tno \x1b[1msuch µ\x7f"));
  CHECK(store.records().at(0).outcome.message == "error:  no  [1msuch µ ");
  Record coloured = right(1, sample_config(2));
  coloured.run = coloured.origin = "\x1b[31mred\n";
  store.record(coloured);
  for (std::string Record::*words : {&Record::run, &Record::origin}) CHECK(store.records().at(0).*words == " [31mred ");
  KernelBuild one = sample_build(sample_config(), 1), other = sample_build(sample_config(), 2);
  one.key.kernel_hash = "a";
  one.key.compiler_options = "b\nc";
  other.key.kernel_hash = "a\nb";
  other.key.compiler_options = "c";
  Store from = Store::in_memory();
  from.record_build(one);
  from.record_build(other);
  CHECK(merge(store, from).builds_added == 2);
}

TEST_CASE("several entries are recorded together, in their order, or none of them") {
  Store store = Store::in_memory();
  const std::vector<Record> several = {
      right(5, sample_config(1)), right(4, sample_config(2)), right(6, sample_config(1))};
  store.record(several);
  REQUIRE(store.records().size() == 3);
  const std::vector<JudgedBest> best = bests_of(store);
  REQUIRE(best.size() == 1);
  CHECK(best[0].record.outcome.timing->median_us == 4);
  CHECK(best[0].candidates == 2);
  RecordFilter latest;
  latest.latest_only = true;
  for (const Record& entry : store.records(latest)) CHECK(entry.outcome.timing->median_us != 5);  // 6 came after it

  std::vector<Record> contradicting = {right(3, sample_config(3)), right(1)};
  contradicting[1].outcome.timing.reset();
  CHECK_THROWS_AS(store.record(contradicting), std::logic_error);
  CHECK(store.records().size() == 3);
}

TEST_CASE("origin and time are filled in where they are empty") {
  Store store = Store::in_memory();
  const std::string before = now_utc();
  store.record(right(1));
  const Record entry = store.records().at(0);
  CHECK_FALSE(entry.origin.empty());
  CHECK(entry.created_at >= before);
  CHECK(normalized_utc(entry.created_at) == entry.created_at);
}

TEST_CASE("each field of the filter narrows records and bests") {
  Store store = Store::in_memory();
  Record other = right(5, Config("simt", {{"tile", 8}}), sample_problem("s8s32 TT 7 8 9"));
  other.device = other_device();
  other.run = "run-2";
  store.record(other);
  store.record(right(10));
  store.record(failed(Status::mismatch, "wrong", sample_config(2)));

  const auto count = [&](auto&& set) {
    RecordFilter filter;
    set(filter);
    return store.records(filter).size();
  };
  CHECK(count([](RecordFilter&) {}) == 3);
  CHECK(count([](RecordFilter& f) { f.type = "s8s32"; }) == 1);
  CHECK(count([](RecordFilter& f) { f.trans = Transposes{false, false}; }) == 2);
  CHECK(count([](RecordFilter& f) { f.m = 7; }) == 1);
  CHECK(count([](RecordFilter& f) { f.n = 64; }) == 2);
  CHECK(count([](RecordFilter& f) { f.k = 1; }) == 0);
  CHECK(count([](RecordFilter& f) { f.task = sample_problem(); }) == 2);
  CHECK(count([](RecordFilter& f) { f.family = "simt"; }) == 1);
  CHECK(count([](RecordFilter& f) { f.config = sample_config(2); }) == 1);
  CHECK(count([](RecordFilter& f) { f.device = "h200"; }) == 2);
  CHECK(count([](RecordFilter& f) { f.device = "maxn"; }) == 1);
  CHECK(count([](RecordFilter& f) { f.device_exactly = sample_device(); }) == 2);
  CHECK(count([](RecordFilter& f) { f.sm = sample_device().sm; }) == 2);
  CHECK(count([](RecordFilter& f) { f.status = Status::ok; }) == 2);
  CHECK(count([](RecordFilter& f) { f.run = "run-2"; }) == 1);
  CHECK(count([](RecordFilter& f) { f.limit = 2; }) == 2);

  RecordFilter simt;
  simt.family = "simt";
  REQUIRE(bests_of(store, simt).size() == 1);
  CHECK(bests_of(store, simt)[0].record.config.family() == "simt");
}

TEST_CASE("records come latest first, and on request only the entry that counts") {
  Store store = Store::in_memory();
  store.record(right(10));
  store.record(right(20, sample_config(2)));
  store.record(right(30));
  const auto all = store.records();
  REQUIRE(all.size() == 3);
  CHECK(all.front().outcome.timing->median_us == 30);
  RecordFilter latest;
  latest.latest_only = true;
  CHECK(store.records(latest).size() == 2);
}

TEST_CASE("problems with later entries are told once each, whatever the entries' times") {
  Store store = Store::in_memory();
  CHECK(store.last_entry() == 0);
  store.record(right(10));
  const std::int64_t before = store.last_entry();
  CHECK(store.tasks_since(before).empty());
  Record other = right(20);
  change_problem(other, [](Problem& problem) { problem.m += 8; });
  other.created_at = "2020-01-01T00:00:00.000Z";
  store.record(other);
  store.record(other);
  CHECK(store.tasks_since(before) == std::vector{other.task});
  CHECK(store.tasks_since(0).size() == 2);
  CHECK(store.tasks_since(store.last_entry()).empty());
}

TEST_CASE("values are told with the first entry that has them, whatever their times") {
  Store store = Store::in_memory();
  CHECK(store.first_tried().empty());
  const auto record = [&](const Config& config, const std::string& at) {
    Record entry = right(10);
    entry.config = config;
    entry.created_at = at;
    change_problem(entry, [](Problem& problem) { problem.m += 8; });
    store.record(entry);
  };
  record(Config("f", {{"x", 1}, {"y", 2}}), "2026-01-03T00:00:00.000Z");
  record(Config("f", {{"x", 1}, {"y", 4}}), "2026-01-02T00:00:00.000Z");  // recorded later, made before
  record(Config("g", {{"x", 1}}), "2026-01-04T00:00:00.000Z");
  CHECK(store.first_tried() ==
        FirstTried{{{"f", "x", 1}, 1}, {{"f", "y", 2}, 1}, {{"f", "y", 4}, 2}, {{"g", "x", 1}, 3}});
}

TEST_CASE("a run is kept from its beginning to its end") {
  Store store = Store::in_memory();
  Run run;
  run.uuid = new_uuid();
  run.command = "tilesmith tune --workload quick";
  run.workload = "quick";
  run.strategy = "local";
  run.seed = 0xffffffffffffffffull;
  store.begin_run(run);
  REQUIRE(store.runs().size() == 1);
  CHECK(store.runs()[0].ended_at.empty());
  CHECK(store.runs()[0].seed == 0xffffffffffffffffull);
  CHECK_FALSE(store.runs()[0].host.empty());
  store.end_run(run.uuid, "done");
  CHECK(store.runs()[0].ended_how == "done");
  CHECK_FALSE(store.runs()[0].ended_at.empty());
  CHECK_THROWS_AS(store.end_run("unknown", "done"), std::logic_error);
}

TEST_CASE("a query may not change anything") {
  Store store = Store::in_memory();
  store.record(right(1));
  for (const char* sql :
      {"DELETE FROM records", "DROP TABLE records", "UPDATE configs SET text = 'x'", "PRAGMA user_version = 7",
          "PRAGMA journal_mode = DELETE", "ATTACH 'x.db' AS x", "BEGIN", "VACUUM", "CREATE TABLE t (x)",
          "SELECT 1; DELETE FROM records", "INSERT INTO runs DEFAULT VALUES", "EXPLAIN DELETE FROM records",
          "SELECT load_extension('x')", "", ";", "-- nothing", "SELECT", "SELECT nothing FROM nowhere"}) {
    const std::string error = store_error([&] { rows_of(store, sql); });
    INFO(sql << " -> " << error);
    CHECK(error != "no error");
    CHECK(is_one_line(error));
    CHECK(contains(error, "--sql"));
  }
  CHECK(rows_of(store, "SELECT count(*) FROM records").at(0).at(0) == "1");
  CHECK(rows_of(store, "PRAGMA user_version").at(0).at(0) == std::to_string(kSchemaVersion));
  CHECK(
      rows_of(store, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 5) SELECT sum(x) FROM c")
          .at(0)
          .at(0) == "15");
  CHECK(rows_of(store, "PRAGMA table_info(records)").size() == 18);
  store.record(right(2));  // the store still writes afterwards
}

TEST_CASE("a fresh uuid is of version 4, and no two are equal") {
  const std::string uuid = new_uuid();
  REQUIRE(uuid.size() == 36);
  CHECK(uuid[14] == '4');
  CHECK(std::string("89ab").find(uuid[19]) != std::string::npos);
  CHECK(uuid != new_uuid());
}

TEST_CASE("nothing is recorded in a database that was moved, removed or replaced while open") {
  const std::string reason = "was moved, removed or replaced while open";
  TemporaryFolder folder;
  { Store::open(folder / "other.db"); }
  Store replaced = Store::open(folder / "replaced.db"), moved = Store::open(folder / "moved.db"),
        removed = Store::open(folder / "removed.db");
  for (Store* store : {&replaced, &moved, &removed}) store->record(right(10));
  std::filesystem::rename(folder / "other.db", folder / "replaced.db");
  std::filesystem::rename(folder / "moved.db", folder / "elsewhere.db");
  std::filesystem::remove(folder / "removed.db");
  for (Store* store : {&replaced, &moved, &removed}) {
    const std::string error = store_error([&] { store->record(right(11)); });
    INFO(error);
    CHECK(contains(error, store->path().string()));
    CHECK(contains(error, reason));
    CHECK(contains(store_error([&] { store->record_build(sample_build()); }), reason));
  }
}
