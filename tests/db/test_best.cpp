#include <chrono>

#include "db/sqlite.hpp"
#include "db/store.hpp"
#include "tests/catch.hpp"
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
  const std::vector<Best> bests = store.best();
  REQUIRE(bests.size() == 1);
  CHECK(bests[0].evidence.config == sample_config(2));
  CHECK(bests[0].candidates == 4);
  CHECK(bests[0].ok == 3);
}

TEST_CASE("of several entries of one candidate the latest counts, even if it is slower") {
  Store store = Store::in_memory();
  store.record(right(10, sample_config(1)));
  store.record(right(15, sample_config(2)));
  store.record(right(20, sample_config(1)));
  CHECK(store.best().at(0).evidence.config == sample_config(2));
  CHECK(store.best().at(0).candidates == 2);
}

TEST_CASE("a later mismatch supersedes a former time, and a later success the mismatch") {
  Store store = Store::in_memory();
  store.record(right(10));
  store.record(failed(Status::mismatch, "wrong"));
  CHECK(store.best().empty());
  store.record(right(12));
  REQUIRE(store.best().size() == 1);
  CHECK(store.best()[0].evidence.outcome.timing->median_us == 12);
}

TEST_CASE("the order of recording decides which entry is the latest, not the clock") {
  Store store = Store::in_memory();
  Evidence fault = failed(Status::device_fault, "fault");
  fault.created_at = "2026-02-01T00:00:00.001Z";
  Evidence without_clock = right(10);
  without_clock.created_at = "1970-01-01T00:01:00Z";
  store.record(fault);
  store.record(without_clock);
  REQUIRE(store.best().size() == 1);
  EvidenceFilter one;
  one.limit = 1;
  CHECK(store.evidence(one).at(0).outcome.status == Status::ok);
  CHECK(store.query("SELECT status FROM latest").rows.at(0).at(0) == "ok");
  CHECK(store.latest(sample_problem(), sample_config(), sample_device(), sample_producer())->outcome.status == Status::ok);
  CHECK(is_later(store.evidence().at(0), store.evidence().at(1)));
}

TEST_CASE("an entry recorded last counts even if the machine's clock was set back") {
  Store store = Store::in_memory();
  Evidence future = right(10);
  future.created_at = "2999-01-01T00:00:00.000Z";
  store.record(future);
  store.record(failed(Status::mismatch, "wrong"));  // its time is filled in by the store
  CHECK(store.best().empty());
  CHECK(store.evidence().at(0).created_at < future.created_at);  // as the clock says
}

TEST_CASE("an entry of another plan hash supersedes that of the former one") {
  Store store = Store::in_memory();
  store.record(right(10));
  Evidence changed = right(11);
  changed.plan_hash = "hash-2";
  store.record(changed);
  REQUIRE(store.best().size() == 1);
  CHECK(store.best()[0].evidence.plan_hash == "hash-2");
  CHECK(store.best()[0].candidates == 1);
}

TEST_CASE("equal medians go to the smaller config text") {
  Store store = Store::in_memory();
  store.record(right(10, sample_config(3)));
  store.record(right(10, sample_config(2)));
  store.record(right(10, sample_config(4)));
  CHECK(store.best().at(0).evidence.config == sample_config(2));
}

TEST_CASE("devices that differ in power mode alone have bests of their own") {
  Store store = Store::in_memory();
  Evidence entry = right(10);
  entry.device = other_device();
  store.record(entry);
  entry.device.power_mode = "MODE_15W";
  entry.outcome.timing->median_us = 40;
  store.record(entry);
  CHECK(store.best().size() == 2);
  CHECK(store.devices().size() == 2);
}

TEST_CASE("bests come ordered by type, transposes, dimensions and device") {
  Store store = Store::in_memory();
  for (const char* problem : {"f16f32 NT 64 64 64", "f16f32 NN 128 64 64", "bf16f32 NN 8 8 8", "f16f32 NN 64 64 1024",
                              "f16f32 NN 64 64 64"}) {
    store.record(right(10, sample_config(), sample_problem(problem)));
  }
  std::vector<std::string> order;
  for (const Best& best : store.best()) order.push_back(text(best.evidence.problem));
  CHECK(order == std::vector<std::string>{"bf16f32 NN 8 8 8", "f16f32 NN 64 64 64", "f16f32 NN 64 64 1024",
                                          "f16f32 NN 128 64 64", "f16f32 NT 64 64 64"});
}

TEST_CASE("a filter by family ranks that family's configs among themselves") {
  Store store = Store::in_memory();
  store.record(right(10, sample_config()));
  store.record(right(50, Config("simt", {{"tile", 8}})));
  store.record(right(40, Config("simt", {{"tile", 16}})));
  EvidenceFilter simt;
  simt.family = "simt";
  const auto bests = store.best(simt);
  REQUIRE(bests.size() == 1);
  CHECK(bests[0].evidence.config.at("tile") == 16);
  CHECK(bests[0].candidates == 2);
}

TEST_CASE("plain SQL sees the view best with readable columns") {
  Store store = Store::in_memory();
  store.record(right(2));
  const Store::Table table = store.query(
      "SELECT type, trans, m, n, k, device, power_mode, family, config, median_us, tflops, spread, samples, clock_mhz, "
      "temperature_c, power_w, driver, nvrtc, plan_hash, policy, origin, run, created_at FROM best;");
  REQUIRE(table.rows.size() == 1);
  REQUIRE(table.columns.size() == 23);
  CHECK(table.columns[0] == "type");
  const std::vector<std::string>& row = table.rows[0];
  CHECK(row[0] == "f16f32");
  CHECK(row[1] == "NN");
  CHECK(row[2] == "64");
  CHECK(row[5] == "NVIDIA H200");
  CHECK(row[8] == sample_config().text());
  CHECK(std::stod(row[10]) == Approx(2.0 * 64 * 64 * 64 / 2 / 1e6));
  CHECK(store.query("SELECT json_extract(params, '$.frag_m') FROM configs").rows.at(0).at(0) == "16");
}

TEST_CASE("the view best and best() agree") {
  Store store = Store::in_memory();
  for (int i = 0; i < 60; ++i) {
    const Problem problem = sample_problem(i % 3 == 0 ? "f16f32 NN 64 64 64" : "f16f32 TT 64 64 64");
    if (i % 7 == 0) store.record(failed(Status::mismatch, "wrong", sample_config(i % 11), problem));
    else store.record(right(10 + (i * 37) % 13, sample_config(i % 11), problem));
  }
  const auto table = store.query("SELECT problem, config, median_us FROM best");
  const auto bests = store.best();
  REQUIRE(table.rows.size() == bests.size());
  for (std::size_t i = 0; i < bests.size(); ++i) {
    CHECK(table.rows[i][0] == text(bests[i].evidence.problem));
    CHECK(table.rows[i][1] == bests[i].evidence.config.text());
    CHECK(std::stod(table.rows[i][2]) == bests[i].evidence.outcome.timing->median_us);
  }
}

TEST_CASE("ranking and reading stay fast with a hundred thousand entries") {
  TemporaryFolder folder;
  { Store::open(folder / "a.db").record(right(10)); }
  {
    const Database database((folder / "a.db").string(), SQLITE_OPEN_READWRITE, "a.db");
    const std::string numbers = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ";
    database.execute("BEGIN");
    database.execute(numbers + "100) INSERT INTO problems SELECT i + 1, 'f16f32 NN ' || i || ' 8 8', 'f16f32', 'NN', i, 8, "
                               "8, 8, 8, 8, 16, 'zero', 1, 'linear' FROM c");
    database.execute(numbers + "500) INSERT INTO configs SELECT i + 1, 'wmma{stages=' || (i + 9) || '}', 'wmma', "
                               "json_object('stages', i + 9) FROM c");
    database.execute(numbers + "100000) INSERT INTO evidence SELECT i + 1, 2 + i % 100, 2 + i / 200, 1, 1, 'ok', '', "
                               "10 + i % 997, 0, 9, 0, 0, 0, 1, '', '', '2026-01-01T00:00:00.000Z', '' FROM c "
                               "WHERE i < 100000");
    database.execute("COMMIT");
  }
  Store store = Store::open(folder / "a.db");
  const auto start = std::chrono::steady_clock::now();
  const auto bests = store.best();
  CHECK(store.query("SELECT count(*) FROM best").rows.at(0).at(0) == "101");
  EvidenceFilter one;
  one.problem = sample_problem("f16f32 NN 50 8 8");
  CHECK(store.best(one).size() == 1);
  EvidenceFilter few;
  few.limit = 10;
  CHECK(store.evidence(few).size() == 10);
  store.record(right(11));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  CHECK(bests.size() == 101);
  CHECK(elapsed.count() < 5.0);  // well under a second on an idle machine; a plan without its index takes minutes
}

TEST_CASE("a device that ran another architecture's code has bests of its own, and is meant only by its full name") {
  Store store = Store::in_memory();
  Evidence entry = right(10);
  store.record(entry);
  entry.device = identity_as(sample_device(), *limits_for_arch("sm_87"));
  entry.producer.compiler_options = "--gpu-architecture=compute_87";
  entry.outcome.timing->median_us = 1;
  store.record(entry);
  entry.device = other_device();
  store.record(entry);

  const auto names_for = [&](const std::string& part) {
    EvidenceFilter filter;
    filter.device = part;
    std::string names;
    for (const Best& best : store.best(filter)) names += best.evidence.device.name + ";";
    std::string meant;
    for (const DeviceIdentity& device : store.devices()) meant += is_meant_by(device, part) ? device.name + ";" : "";
    CHECK(names.size() == meant.size());
    return names;
  };
  CHECK(store.best().size() == 3);
  CHECK(names_for("H200") == "NVIDIA H200;");
  CHECK(names_for("nvidia h200") == "NVIDIA H200;");
  CHECK(names_for("sm_87") == "Orin;");
  CHECK(names_for("h200 AS sm_87") == "NVIDIA H200 as sm_87;");
  CHECK(names_for("as sm_") == "NVIDIA H200 as sm_87;");

  EvidenceFilter exactly;
  exactly.device_exactly = sample_device();
  REQUIRE(store.best(exactly).size() == 1);
  CHECK(store.best(exactly).at(0).evidence.outcome.timing->median_us == 10);
  CHECK_FALSE(store.latest(right(1).problem, sample_config(), sample_device(), entry.producer));
}

TEST_CASE("a device's whole text means it alone, though it begins another's") {
  Store store = Store::in_memory();
  for (const char* mode : {"", "MAXN", "MAXN_SUPER"}) {
    Evidence entry = right(10);
    entry.device = other_device();
    entry.device.power_mode = mode;
    store.record(entry);
  }
  const std::vector<DeviceIdentity> all = store.devices();
  REQUIRE(all.size() == 3);
  for (const DeviceIdentity& device : all) {
    CHECK(meant_by(all, text(device)) == std::vector{device});
    EvidenceFilter filter;
    filter.device = text(device);
    REQUIRE(store.best(filter).size() == 1);
    CHECK(store.best(filter)[0].evidence.device == device);
    CHECK(store.evidence(filter).size() == 1);
  }
  CHECK(meant_by(all, "maxn").size() == 2);
  CHECK(meant_by(all, "Orin").size() == 3);
  CHECK(meant_by(all, "H200").empty());
}

TEST_CASE("thousands of entries of one candidate and one instant are told apart at once, and the one recorded last counts") {
  Store store = Store::in_memory();
  std::vector<Evidence> entries;
  for (int i = 0; i < 4000; ++i) {
    entries.push_back(right(10 + i));
    entries.back().created_at = "2026-01-01T00:00:00.000Z";
  }
  store.record(entries);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 5; ++i) {
    CHECK(store.best().at(0).evidence.outcome.timing->median_us == 4009);
    CHECK(store.query("SELECT median_us FROM latest").rows == std::vector<std::vector<std::string>>{{"4009.0"}});
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  CHECK(elapsed.count() < 2.0);  // hundredths on an idle machine; a second a time where each is compared with all before it
}
