// The vendor in final benchmarks: asked for, stored with the entries beside it, and made up for.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/db/bests.hpp"
#include "tests/tuner/tune_toy.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

namespace {

db::VendorTimes vendor_of(double first_us, double best_us) {
  db::VendorTimes times;
  times.vendor_version = "13.1.0";
  times.first = {first_us, 0.01, "#0"};
  times.best = {best_us, 0.01, "#2"};
  times.offered = times.timed = 3;
  times.samples = 15;
  return times;
}

db::VendorTimes no_times(const std::string& why) {
  db::VendorTimes times = vendor_of(1, 1);
  times.first = times.best = {};
  times.timed = 0;
  times.message = why;
  return times;
}

TuneOptions beside_vendor(ToyEvaluator& evaluator) {
  TuneOptions options = options_for(evaluator);
  options.strategy = "exhaustive";
  options.finalists = 3;
  options.vendor = true;
  return options;
}

const db::VendorTimes* beside_best(const db::Store& store, const db::VendorIndex& index) {
  return index.beside(db::test::bests_of(store).at(0).record);
}

}  // namespace

TEST_CASE("the vendor is timed beside the finalists, and stored with those that were", "[vendor]") {
  ToyEvaluator evaluator;
  evaluator.final_benchmark_factor = 0.5;
  evaluator.vendor = vendor_of(6, 5.5);
  db::Store store = db::Store::in_memory();
  const TuneResult result = quiet_tune(squares({64}), beside_vendor(evaluator), evaluator, store);
  CHECK(evaluator.played_off.size() == evaluator.asked_vendor.size());
  const std::vector<db::VendorTimes> rows = store.vendor_times();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].run == result.run);
  CHECK(rows[0].first.us == Approx(6));
  CHECK(rows[0].best.us == Approx(5.5));
  CHECK(rows[0].vendor_version == "13.1.0");
  CHECK(rows[0].driver_version == "580");
  CHECK(rows[0].measuring_policy == "toy-1");
  CHECK(rows[0].beside.size() == 3);
  const db::VendorIndex index(rows);
  REQUIRE(beside_best(store, index) != nullptr);
  CHECK(db::test::bests_of(store).at(0).record.outcome.timing->median_us == Approx(5));
  for (const Config& config : evaluator.played_off[0]) {  // every finalist's entry, by its time as it is stored
    db::RecordFilter filter;
    filter.config = config;
    filter.latest_only = true;
    CHECK(index.beside(store.records(filter).at(0)) != nullptr);
  }
}

TEST_CASE("without the option, or an evaluator that has it, nothing is asked of the vendor", "[vendor]") {
  for (const bool wanted : {false, true}) {
    ToyEvaluator evaluator;
    if (!wanted) evaluator.vendor = vendor_of(12, 11);
    db::Store store = db::Store::in_memory();
    TuneOptions options = beside_vendor(evaluator);
    options.vendor = wanted;
    quiet_tune(squares({64}), options, evaluator, store);
    CHECK(evaluator.asked_vendor.empty());
    CHECK(evaluator.played_off.size() == 1);
    CHECK(store.vendor_times().empty());
  }
}

TEST_CASE("a problem that was tuned without the vendor has it timed beside its best when it is tuned again, once",
    "[vendor]") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  TuneOptions options = beside_vendor(evaluator);
  options.vendor = false;
  quiet_tune(squares({64, 128}), options, evaluator, store);
  const std::size_t entries = store.records().size(), tried = evaluator.total(), rounds = evaluator.played_off.size();
  options.vendor = true;
  evaluator.vendor = vendor_of(12, 11);
  evaluator.final_benchmark_factor = 1.04;  // a night that is slower
  quiet_tune(squares({64, 128}), options, evaluator, store);
  CHECK(evaluator.total() == tried);
  REQUIRE(evaluator.played_off.size() == rounds + 2);
  CHECK(evaluator.played_off.back().size() == 3);
  CHECK(evaluator.played_off.back()[0] == kOptimum);
  const std::vector<db::VendorTimes> rows = store.vendor_times();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].first.us == Approx(12 / 1.04));  // on the scale of the best's time, which stands
  for (const db::JudgedBest& best : db::test::bests_of(store)) {
    CHECK(best.record.outcome.timing->median_us == Approx(10));
    CHECK(db::VendorIndex(rows).beside(best.record) != nullptr);
  }
  CHECK(store.records().size() == entries + 2 * 2);  // who played beside the bests
  quiet_tune(squares({64, 128}), options, evaluator, store);
  CHECK(evaluator.played_off.size() == rounds + 2);
  CHECK(store.vendor_times().size() == 2);
}

TEST_CASE("where the best's time does not stand it is taken anew beside the vendor", "[vendor]") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  TuneOptions options = beside_vendor(evaluator);
  options.vendor = false;
  quiet_tune(squares({64}), options, evaluator, store);
  options.vendor = true;
  evaluator.vendor = vendor_of(25, 24);
  evaluator.final_benchmark_factor = 2;
  quiet_tune(squares({64}), options, evaluator, store);
  const std::vector<db::VendorTimes> rows = store.vendor_times();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].first.us == Approx(25));
  db::RecordFilter filter;
  filter.config = kOptimum;
  filter.latest_only = true;
  CHECK(store.records(filter).at(0).outcome.timing->median_us == Approx(20));
  CHECK(rows[0].is_beside(store.records(filter).at(0)));
}

TEST_CASE("a search without final benchmarks has the vendor timed beside its best", "[vendor]") {
  ToyEvaluator evaluator;
  evaluator.vendor = vendor_of(12, 11);
  db::Store store = db::Store::in_memory();
  TuneOptions options = beside_vendor(evaluator);
  options.finalists = 1;
  quiet_tune(squares({64}), options, evaluator, store);
  CHECK(evaluator.played_off.size() == 1);
  CHECK(evaluator.played_off.at(0).front() == kOptimum);
  REQUIRE(store.vendor_times().size() == 1);
  CHECK(beside_best(store, db::VendorIndex(store.vendor_times())) != nullptr);
}

TEST_CASE("a reason is stored once, and asked for no more while the driver stays", "[vendor]") {
  ToyEvaluator evaluator;
  evaluator.vendor = no_times("cuBLASLt offers no algorithm");
  db::Store store = db::Store::in_memory();
  const TuneOptions options = beside_vendor(evaluator);
  quiet_tune(squares({64}), options, evaluator, store);
  const std::vector<db::VendorTimes> rows = store.vendor_times();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].message == "cuBLASLt offers no algorithm");
  CHECK(rows[0].beside.empty());
  const std::size_t asked = evaluator.asked_vendor.size();
  quiet_tune(squares({64}), options, evaluator, store);
  CHECK(evaluator.asked_vendor.size() == asked);
  CHECK(store.vendor_times().size() == 1);
  evaluator.environment_.driver_version = "590";
  quiet_tune(squares({64}), options, evaluator, store);
  CHECK(evaluator.asked_vendor.size() > asked);
  CHECK(store.vendor_times().size() == 2);
}

TEST_CASE("a final benchmark that fails stores nothing of the vendor, and ends no run", "[vendor]") {
  ToyEvaluator evaluator;
  evaluator.vendor = vendor_of(12, 11);
  evaluator.final_benchmark_fails = true;
  db::Store store = db::Store::in_memory();
  const TuneResult result = quiet_tune(squares({64}), beside_vendor(evaluator), evaluator, store);
  CHECK(result.ended_how == "done");
  CHECK(store.vendor_times().empty());
}

TEST_CASE("the search among the vendor's algorithms may take a hundredth of the slice", "[vendor]") {
  ToyEvaluator evaluator;
  evaluator.seconds_each = 2;
  evaluator.vendor = vendor_of(12, 11);
  db::Store store = db::Store::in_memory();
  quiet_tune(squares({64}), beside_vendor(evaluator), evaluator, store);
  REQUIRE_FALSE(evaluator.asked_vendor.empty());
  CHECK(evaluator.asked_vendor[0] == Approx(0.01 * 2 * double(legal_configs())));
}

TEST_CASE("a run's later best is beside the vendor of its own final benchmark", "[vendor]") {
  ToyEvaluator evaluator;
  evaluator.vendor = vendor_of(12, 11);
  evaluator.plants[kOptimum.text()] = ok(100);
  db::Store store = db::Store::in_memory();
  TuneOptions options = beside_vendor(evaluator);
  options.max_candidates = 60;
  quiet_tune(squares({64}), options, evaluator, store);
  evaluator.plants.clear();
  options.max_candidates = 0;
  evaluator.vendor = vendor_of(13, 12);
  quiet_tune(squares({64}), options, evaluator, store);
  const db::VendorIndex index(store.vendor_times());
  REQUIRE(beside_best(store, index) != nullptr);
}

TEST_CASE("of rounds that do not compare the vendor is beside the last one's finalists alone", "[vendor]") {
  ToyEvaluator evaluator;
  evaluator.final_benchmark_factor = 1.5;
  evaluator.vendor_answers = [&] {
    evaluator.final_benchmark_factor *= 2;  // the next round
    return std::optional(vendor_of(12, 11));
  };
  db::Store store = db::Store::in_memory();
  TuneOptions options = beside_vendor(evaluator);
  options.finalists = 4;
  quiet_tune(squares({64}), options, evaluator, store);
  REQUIRE(evaluator.played_off.size() > 1);
  const std::vector<db::VendorTimes> rows = store.vendor_times();
  REQUIRE(rows.size() == 1);
  const std::vector<Config>& last = evaluator.played_off.back();
  CHECK(rows[0].beside.size() == last.size());
  for (const db::VendorTimes::Beside& one : rows[0].beside) CHECK(std::ranges::find(last, one.config) != last.end());
}
