#include <chrono>

#include "db/store/free_query.hpp"
#include "db/store/sqlite.hpp"
#include "db/store/store.hpp"
#include "db/store/trust.hpp"
#include "tests/catch.hpp"
#include "tests/db/bests.hpp"
#include "tests/db/sample.hpp"

using namespace tilesmith;
using namespace tilesmith::db;
using namespace tilesmith::db::test;

TEST_CASE("best is the fastest of the entries that count, with the candidates counted") {
  Store store = Store::in_memory();
  store.record(right(30, sample_config(1)));
  store.record(right(20, sample_config(2)));
  store.record(right(25, sample_config(3)));
  store.record(failed(Status::mismatch, "C[0,0] is 1, expected 2", sample_config(4)));
  const std::vector<JudgedBest> bests = bests_of(store);
  REQUIRE(bests.size() == 1);
  CHECK(bests[0].record.config == sample_config(2));
  CHECK(bests[0].candidates == 4);
  CHECK(bests[0].ok == 3);
}

TEST_CASE("of several entries of one candidate the latest counts, even if it is slower") {
  Store store = Store::in_memory();
  store.record(right(10, sample_config(1)));
  store.record(right(15, sample_config(2)));
  store.record(right(20, sample_config(1)));
  CHECK(bests_of(store).at(0).record.config == sample_config(2));
  CHECK(bests_of(store).at(0).candidates == 2);
}

TEST_CASE("a later mismatch supersedes a former time, and a later success the mismatch") {
  Store store = Store::in_memory();
  store.record(right(10));
  store.record(failed(Status::mismatch, "wrong"));
  CHECK(bests_of(store).empty());
  store.record(right(12));
  REQUIRE(bests_of(store).size() == 1);
  CHECK(bests_of(store)[0].record.outcome.timing->median_us == 12);
}

TEST_CASE("the order of recording decides which entry is the latest, not the clock") {
  Store store = Store::in_memory();
  Record fault = failed(Status::device_fault, "fault");
  fault.created_at = "2026-02-01T00:00:00.001Z";
  Record without_clock = right(10);
  without_clock.created_at = "1970-01-01T00:01:00Z";
  store.record(fault);
  store.record(without_clock);
  REQUIRE(bests_of(store).size() == 1);
  RecordFilter one;
  one.limit = 1;
  CHECK(store.records(one).at(0).outcome.status == Status::ok);
  CHECK(rows_of(store, "SELECT status FROM latest").at(0).at(0) == "ok");
  CHECK(is_later(store.records().at(0), store.records().at(1)));
}

TEST_CASE("an entry recorded last counts even if the machine's clock was set back") {
  Store store = Store::in_memory();
  Record future = right(10);
  future.created_at = "2999-01-01T00:00:00.000Z";
  store.record(future);
  store.record(failed(Status::mismatch, "wrong"));  // its time is filled in by the store
  CHECK(bests_of(store).empty());
  CHECK(store.records().at(0).created_at < future.created_at);  // as the clock says
}

TEST_CASE("an entry of another plan hash supersedes that of the former one") {
  Store store = Store::in_memory();
  store.record(right(10));
  Record changed = right(11);
  changed.plan_hash = "hash-2";
  store.record(changed);
  REQUIRE(bests_of(store).size() == 1);
  CHECK(bests_of(store)[0].record.plan_hash == "hash-2");
  CHECK(bests_of(store)[0].candidates == 1);
}

TEST_CASE("equal medians go to the smaller config text") {
  Store store = Store::in_memory();
  store.record(right(10, sample_config(3)));
  store.record(right(10, sample_config(2)));
  store.record(right(10, sample_config(4)));
  CHECK(bests_of(store).at(0).record.config == sample_config(2));
}

TEST_CASE("a trial ranks behind every measurement, and before nothing at all") {
  const auto trial = [](double us, int config) {
    Record entry = right(us, sample_config(config));
    entry.environment.measuring_policy = kTrialPolicy;
    return entry;
  };
  const auto first = [](const Store& store, const std::string& policy) {
    const std::vector<Record> entries = store.records();
    Environment now = sample_environment();
    now.measuring_policy = policy;
    const auto ranked = rank(entries, [&](const Record&) { return now; });
    CHECK(ranked.front().best.front().trust == (policy == "cold-1" ? Trust::valid : Trust::remeasure));
    return ranked.front().best.front().entry->config;
  };
  Store store = Store::in_memory();
  store.record(trial(3, 3));
  store.record(trial(2, 2));
  CHECK(first(store, "cold-4") == sample_config(2));
  CHECK(first(store, std::string(kTrialPolicy)) == sample_config(2));  // never valid, whatever is today's
  store.record(right(20, sample_config(1)));
  store.record(trial(1, 1));  // the same candidate as the measurement, later
  store.record(trial(1, 4));
  CHECK(first(store, "cold-1") == sample_config(1));
  CHECK(first(store, "cold-4") == sample_config(1));  // a former policy's
}

TEST_CASE("devices that differ in power mode alone have bests of their own") {
  Store store = Store::in_memory();
  Record entry = right(10);
  entry.device = other_device();
  store.record(entry);
  entry.device.power_mode = "MODE_15W";
  entry.outcome.timing->median_us = 40;
  store.record(entry);
  CHECK(bests_of(store).size() == 2);
  CHECK(store.devices().size() == 2);
}

TEST_CASE("a filter by family ranks that family's configs among themselves") {
  Store store = Store::in_memory();
  store.record(right(10, sample_config()));
  store.record(right(50, Config("simt", {{"tile", 8}})));
  store.record(right(40, Config("simt", {{"tile", 16}})));
  RecordFilter simt;
  simt.family = "simt";
  const auto bests = bests_of(store, simt);
  REQUIRE(bests.size() == 1);
  CHECK(bests[0].record.config.at("tile") == 16);
  CHECK(bests[0].candidates == 2);
}

TEST_CASE("a statement finds the bests that it is given in the table best, with readable columns") {
  TemporaryFolder folder;
  {
    Store store = Store::open(folder / "a.db");
    store.record(right(4));
    store.record(right(2, sample_config(2)));
    store.record(right(3, sample_config(), sample_problem("f16f32 NT 64 64 64")));
  }
  const bool read_only = GENERATE(false, true);
  const Store store = read_only ? Store::open_read_only(folder / "a.db") : Store::open(folder / "a.db");
  std::vector<JudgedBest> bests = bests_of(store);
  REQUIRE(bests.size() == 2);
  std::swap(bests[0], bests[1]);  // the order is theirs
  bests[1].trust = "reverify";
  SqlResult result = free_query(store, "SELECT * FROM best", &bests);
  REQUIRE(result.rows.size() == 2);
  std::string columns;
  for (const std::string& column : result.columns) columns += column + " ";
  CHECK(
      columns ==
      "type trans m n k device power_mode family config median_us tflops spread samples clock_mhz temperature_c power_w "
      "driver nvrtc plan_hash policy origin run created_at problem device_key record_id trust vendor_us vendor_best_us vendor_id ");
  const std::vector<SqlValue>& row = result.rows[1];
  CHECK(row[0].text == "f16f32");
  CHECK(row[1].text == "NN");
  CHECK(row[2].integer == 64);
  CHECK(row[5].text == "NVIDIA H200");
  CHECK(row[8].text == sample_config(2).text());
  CHECK(row[10].real == Approx(2.0 * 64 * 64 * 64 / 2 / 1e6));
  CHECK(row[26].text == "reverify");
  CHECK(result.rows[0][1].text == "NT");

  bests.clear();
  CHECK(free_query(store, "SELECT * FROM best", &bests).rows.empty());
  CHECK(contains(store_error([&] { free_query(store, "DELETE FROM best", &bests); }), "only reads"));
  CHECK(contains(store_error([&] { free_query(store, "DELETE FROM records", &bests); }), "only reads"));
  CHECK(rows_of(store, "SELECT json_extract(params, '$.frag_m') FROM configs").at(0).at(0) == "16");
  CHECK(store.records().size() == 3);
}

TEST_CASE("no file holds a view that would know better what is best") {
  CHECK(rows_of(Store::in_memory(), "SELECT name FROM sqlite_master WHERE type = 'view'") ==
        std::vector<std::vector<std::string>>{{"latest"}});
}

TEST_CASE("ranking and reading stay fast with a hundred thousand entries") {
  TemporaryFolder folder;
  { Store::open(folder / "a.db").record(right(10)); }
  {
    const Database database((folder / "a.db").string(), SQLITE_OPEN_READWRITE, "a.db");
    const std::string numbers = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ";
    database.execute("BEGIN");
    database.execute(numbers +
                     "100) INSERT INTO problems SELECT i + 1, 'f16f32 NN ' || i || ' 8 8', 'f16f32', 'NN', i, 8, "
                     "8, 8, 8, 8, 16, 'zero', 1, 'linear' FROM c");
    database.execute(numbers +
                     "500) INSERT INTO configs SELECT i + 1, 'wmma{stages=' || (i + 9) || '}', 'wmma', "
                     "json_object('stages', i + 9) FROM c");
    database.execute(numbers +
                     "100000) INSERT INTO records SELECT i + 1, 2 + i % 100, 2 + i / 200, 1, 1, 'ok', '', "
                     "10 + i % 997, 0, 9, 0, 0, 0, 1, '', '', '2026-01-01T00:00:00.000Z', '' FROM c "
                     "WHERE i < 100000");
    database.execute("COMMIT");
  }
  Store store = Store::open(folder / "a.db");
  const auto start = std::chrono::steady_clock::now();
  const auto bests = bests_of(store);
  CHECK(free_query(store, "SELECT count(*) FROM best", &bests).rows.at(0)[0].integer == 101);
  RecordFilter one;
  one.task = sample_problem("f16f32 NN 50 8 8");
  CHECK(bests_of(store, one).size() == 1);
  RecordFilter few;
  few.limit = 10;
  CHECK(store.records(few).size() == 10);
  store.record(right(11));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  CHECK(bests.size() == 101);
  CHECK(elapsed.count() < 5.0);  // well under a second on an idle machine; a plan without its index takes minutes
}

TEST_CASE("a device that ran another architecture's code has bests of its own, and is meant only by its full name") {
  Store store = Store::in_memory();
  Record entry = right(10);
  store.record(entry);
  entry.device = identity_as(sample_device(), *limits_for_arch("sm_87"));
  entry.environment.compiler_options = "--gpu-architecture=compute_87";
  entry.outcome.timing->median_us = 1;
  store.record(entry);
  entry.device = other_device();
  store.record(entry);

  const auto names_for = [&](const std::string& part) {
    RecordFilter filter;
    filter.device = part;
    std::string names;
    for (const JudgedBest& best : bests_of(store, filter)) names += best.record.device.name + ";";
    std::string meant;
    for (const DeviceIdentity& device : store.devices()) meant += is_meant_by(device, part) ? device.name + ";" : "";
    CHECK(names.size() == meant.size());
    return names;
  };
  CHECK(bests_of(store).size() == 3);
  CHECK(names_for("H200") == "NVIDIA H200;");
  CHECK(names_for("nvidia h200") == "NVIDIA H200;");
  CHECK(names_for("sm_87") == "Orin;");
  CHECK(names_for("h200 AS sm_87") == "NVIDIA H200 as sm_87;");
  CHECK(names_for("as sm_") == "NVIDIA H200 as sm_87;");

  RecordFilter exactly;
  exactly.device_exactly = sample_device();
  REQUIRE(bests_of(store, exactly).size() == 1);
  CHECK(bests_of(store, exactly).at(0).record.outcome.timing->median_us == 10);
}

TEST_CASE("a device's whole text means it alone, though it begins another's") {
  Store store = Store::in_memory();
  for (const char* mode : {"", "MAXN", "MAXN_SUPER"}) {
    Record entry = right(10);
    entry.device = other_device();
    entry.device.power_mode = mode;
    store.record(entry);
  }
  const std::vector<DeviceIdentity> all = store.devices();
  REQUIRE(all.size() == 3);
  for (const DeviceIdentity& device : all) {
    CHECK(meant_by(all, text(device)) == std::vector{device});
    RecordFilter filter;
    filter.device = text(device);
    REQUIRE(bests_of(store, filter).size() == 1);
    CHECK(bests_of(store, filter)[0].record.device == device);
    CHECK(store.records(filter).size() == 1);
  }
  CHECK(meant_by(all, "maxn").size() == 2);
  CHECK(meant_by(all, "Orin").size() == 3);
  CHECK(meant_by(all, "H200").empty());
}

TEST_CASE(
    "thousands of entries of one candidate and one instant are told apart at once, and the one recorded last counts") {
  Store store = Store::in_memory();
  std::vector<Record> entries;
  for (int i = 0; i < 4000; ++i) {
    entries.push_back(right(10 + i));
    entries.back().created_at = "2026-01-01T00:00:00.000Z";
  }
  store.record(entries);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 5; ++i) {
    CHECK(bests_of(store).at(0).record.outcome.timing->median_us == 4009);
    CHECK(rows_of(store, "SELECT median_us FROM latest") == std::vector<std::vector<std::string>>{{"4009.0"}});
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  CHECK(elapsed.count() <
        2.0);  // hundredths on an idle machine; a second a time where each is compared with all before it
}
