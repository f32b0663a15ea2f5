// What the vendor took: kept, merged, exported and bundled, and found for the entry that it was timed beside.
#include "db/store/vendor_times.hpp"

#include <limits>

#include "db/exchange/export.hpp"
#include "db/files/bundle.hpp"
#include "db/files/merge.hpp"
#include "tests/catch.hpp"
#include "tests/db/bests.hpp"
#include "tests/db/sample.hpp"

using namespace tilesmith;
using namespace tilesmith::db;
using namespace tilesmith::db::test;

namespace {

void check_same(const VendorTimes& found, const VendorTimes& expected) {
  CHECK(found.problem == expected.problem);
  CHECK(found.device == expected.device);
  CHECK(found.vendor == "cublaslt");
  CHECK(found.vendor_version == expected.vendor_version);
  CHECK(found.driver_version == expected.driver_version);
  CHECK(found.measuring_policy == expected.measuring_policy);
  CHECK(found.message == expected.message);
  CHECK(found.offered == expected.offered);
  CHECK(found.timed == expected.timed);
  CHECK(found.first.us == expected.first.us);
  CHECK(found.first.spread == expected.first.spread);
  CHECK(found.first.algorithm == expected.first.algorithm);
  CHECK(found.best.us == expected.best.us);
  CHECK(found.best.spread == expected.best.spread);
  CHECK(found.best.algorithm == expected.best.algorithm);
  CHECK(found.samples == expected.samples);
  CHECK(found.clock_mhz == expected.clock_mhz);
  CHECK(found.temperature_c == expected.temperature_c);
  CHECK(found.power_w == expected.power_w);
  CHECK(found.drift == expected.drift);
  CHECK(found.run == expected.run);
  REQUIRE(found.beside.size() == expected.beside.size());
  for (std::size_t i = 0; i < found.beside.size(); ++i) {
    CHECK(found.beside[i].config == expected.beside[i].config);
    CHECK(found.beside[i].plan_hash == expected.beside[i].plan_hash);
    CHECK(found.beside[i].median_us == expected.beside[i].median_us);
  }
}

/// A reason in the place of times.
VendorTimes refusal(const std::string& why = "cuBLASLt offers no algorithm") {
  VendorTimes none = vendor_beside(right(10));
  none.first = none.best = {};
  none.beside.clear();
  none.timed = 0;
  none.message = why;
  return none;
}

}  // namespace

TEST_CASE(
    "the vendor's times are stored with all that they rest on, and found for the entry beside them alone", "[vendor]") {
  Store store = Store::in_memory();
  Record entry = right(10.25);
  entry.plan_hash = std::string(32, 'a');
  store.record(entry);
  VendorTimes times = vendor_beside(entry);
  times.beside.push_back({sample_config(3), std::string(32, 'b'), 11});
  store.record_vendor(times);
  const std::vector<VendorTimes> found = store.vendor_times();
  REQUIRE(found.size() == 1);
  check_same(found[0], times);
  CHECK_FALSE(found[0].origin.empty());
  CHECK_FALSE(found[0].created_at.empty());
  CHECK(store.integrity_error().empty());

  const VendorIndex index(found);
  REQUIRE(index.beside(entry) != nullptr);
  CHECK(index.beside(entry)->first.us == 20.5);
  Record second = right(11, sample_config(3));
  second.plan_hash = std::string(32, 'b');
  CHECK(index.beside(second) != nullptr);
  for (const char* what :
      {"time", "config", "plan", "device", "problem"}) {  // of another final benchmark, or of no kernel that was there
    Record other = entry;
    if (what == std::string("time")) other.outcome.timing->median_us = 10.26;
    if (what == std::string("config")) other.config = sample_config(2);
    if (what == std::string("plan")) other.plan_hash = std::string(32, 'c');
    if (what == std::string("device")) other.device = other_device();
    if (what == std::string("problem")) other.task = sample_problem("f16f32 NN 64 64 128");
    INFO(what);
    CHECK(index.beside(other) == nullptr);
  }
}

TEST_CASE("of several rows the newest beside an entry counts, and a reason takes no times away", "[vendor]") {
  Store store = Store::in_memory();
  const Record entry = right(10);
  VendorTimes times = vendor_beside(entry);
  times.first.us = 30;
  store.record_vendor(times);
  times.first.us = 31;
  times.created_at = "2001-01-01T00:00:00.000Z";  // clocks decide nothing
  store.record_vendor(times);
  store.record_vendor(refusal());
  const VendorIndex index(store.vendor_times());
  REQUIRE(index.beside(entry) != nullptr);
  CHECK(index.beside(entry)->first.us == 31);
  REQUIRE(index.newest(entry.task.problem(), entry.device) != nullptr);
  CHECK(index.newest(entry.task.problem(), entry.device)->message == "cuBLASLt offers no algorithm");
  CHECK(index.newest(sample_problem("f16f32 NN 64 64 128"), entry.device) == nullptr);
  RecordFilter filter;
  filter.task = sample_problem("f16f32 NN 64 64 128");
  CHECK(store.vendor_times(filter).empty());
  filter.task = entry.task.problem();
  filter.device_exactly = entry.device;
  filter.type = "f16f32";
  filter.sm = 90;
  filter.limit = 2;
  CHECK(store.vendor_times(filter).size() == 2);
}

TEST_CASE("rows that contradict themselves are refused with the field that does", "[vendor]") {
  Store store = Store::in_memory();
  const auto refused = [&](auto&& change, const std::string& part) {
    VendorTimes times = vendor_beside(right(10));
    change(times);
    const auto wrong = vendor_times_error(times);
    REQUIRE(wrong);
    CHECK(contains(*wrong, part));
    CHECK(is_one_line(*wrong));
    CHECK_THROWS_AS(store.record_vendor(times), std::logic_error);
  };
  refused([](VendorTimes& t) { t.first.us = -1; }, "first_us");
  refused([](VendorTimes& t) { t.best.us = std::numeric_limits<double>::quiet_NaN(); }, "best_us");
  refused([](VendorTimes& t) { t.best.us = 21; }, "best_us");
  refused([](VendorTimes& t) { t.best = {}; }, "best_us");
  refused([](VendorTimes& t) { t.best.spread = -1; }, "best_spread");
  refused([](VendorTimes& t) { t.first = t.best = {}; }, "message");
  refused(
      [](VendorTimes& t) {
        t.first = t.best = {};
        t.message = "none";
      },
      "beside");
  refused([](VendorTimes& t) { t.timed = 9; }, "9 of 8");
  refused([](VendorTimes& t) { t.vendor_version = "13\n"; }, "vendor_version");
  refused([](VendorTimes& t) { t.beside[0].median_us = 0; }, "median_us");
  refused([](VendorTimes& t) { t.created_at = "yesterday"; }, "created_at");
  refused([](VendorTimes& t) { t.device.name.clear(); }, "device");
  CHECK(store.vendor_times().empty());
}

TEST_CASE("what the library said is stored as one line", "[vendor]") {
  Store store = Store::in_memory();
  store.record_vendor(refusal("cublasLtMatmul failed\nwith status 15\x1b[31m"));
  CHECK(store.vendor_times().at(0).message == "cublasLtMatmul failed with status 15 [31m");
}

TEST_CASE("a merge brings the vendor's times along, once, and keeps their order", "[vendor]") {
  const Record entry = right(10);
  VendorTimes old = vendor_beside(entry), newer = vendor_beside(entry);
  old.created_at = "2026-01-02T00:00:00.000Z";
  newer.created_at = "2026-01-01T00:00:00.000Z";
  newer.first.us = 40;
  Store from = Store::in_memory();
  from.record(entry);
  from.record_vendor(old);
  from.record_vendor(newer);
  Store into = Store::in_memory();
  into.record_vendor(newer);  // which `from` recorded after the other
  CHECK(merge(into, from).vendor_added == 1);
  CHECK(merge(into, from).vendor_added == 0);
  const std::vector<VendorTimes> found = into.vendor_times();
  REQUIRE(found.size() == 2);
  check_same(found[0], newer);
  check_same(found[1], old);
  CHECK(into.integrity_error().empty());
}

TEST_CASE("a JSON export has what the vendor took beside its bests, and an import brings it back", "[vendor]") {
  const TemporaryFolder folder;
  Record entry = right(10.1);
  entry.created_at = "2026-01-02T00:00:00.000Z";
  const Record without = right(20, sample_config(), sample_problem("f16f32 NN 64 64 128"));
  Store from = Store::in_memory();
  from.record(entry);
  from.record(without);
  from.record_vendor(vendor_beside(entry));
  std::vector<JudgedBest> bests = bests_of(from);
  REQUIRE(bests.size() == 2);
  const VendorIndex index(from.vendor_times());
  for (JudgedBest& best : bests) {
    if (const VendorTimes* beside = index.beside(best.record)) best.vendor = *beside;
  }
  CHECK(bests[1].vendor.has_value());
  CHECK_FALSE(bests[0].vendor.has_value());
  CHECK(free_query(from, "SELECT vendor_us, vendor_best_us FROM best WHERE k = 64", &bests).rows.at(0).at(0).real ==
        20.2);
  const std::string text = export_best(bests, ExportFormat::json);
  spill(folder / "bests.json", text);
  Store into = Store::in_memory();
  const MergeResult result = import_file(into, folder / "bests.json");
  CHECK(result.added == 2);
  CHECK(result.vendor_added == 1);
  CHECK(import_file(into, folder / "bests.json").vendor_added == 0);
  check_same(into.vendor_times().at(0), vendor_beside(entry));
  CHECK(VendorIndex(into.vendor_times()).beside(into.records().at(0)) == nullptr);  // of the other problem
  CHECK(VendorIndex(into.vendor_times()).beside(into.records().at(1)) != nullptr);

  std::string broken = text;
  broken.replace(broken.find("\"offered\": 8"), 12, "\"offered\": 6");
  spill(folder / "broken.json", broken);
  const std::string error = store_error([&] { import_file(into, folder / "broken.json"); });
  CHECK(contains(error, "vendor_times, entry 1: 7 of 6"));
}

TEST_CASE("a bundle keeps what the vendor took, and its import brings it back", "[vendor]") {
  const TemporaryFolder folder;
  Bundle bundle;
  bundle.device = sample_device();
  bundle.arch = "sm_90a";
  Record best = right(10);
  best.origin = "here";
  best.created_at = "2026-01-02T00:00:00.000Z";
  bundle.bests.push_back(best);
  bundle.builds.push_back(sample_build());
  VendorTimes times = vendor_beside(best);
  times.created_at = best.created_at;
  times.origin = "here";
  bundle.vendor.push_back(times);
  save_bundle(bundle, folder / "a.tsb");
  const Bundle loaded = load_bundle(folder / "a.tsb");
  REQUIRE(loaded.vendor.size() == 1);
  check_same(loaded.vendor[0], times);
  Store into = Store::in_memory();
  CHECK(import_file(into, folder / "a.tsb").vendor_added == 1);
  CHECK(VendorIndex(into.vendor_times()).beside(into.records().at(0)) != nullptr);

  bundle.vendor[0].timed = 20;
  CHECK(contains(store_error([&] { save_bundle(bundle, folder / "b.tsb"); }), "vendor_times: 20 of 8"));
}
