// What the commands say of the vendor's times.
#include <nlohmann/json.hpp>

#include "db/store/store.hpp"
#include "tests/catch.hpp"
#include "tests/tuner/made_recording.hpp"
#include "tests/tuner/run_binary.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;

namespace {

/// The best of each problem of the made database.
std::vector<db::Record> bests_of(const db::Store& store) {
  std::vector<db::Record> bests;
  db::RecordFilter filter;
  filter.status = db::Status::ok;
  for (const db::Record& entry : store.records(filter)) {
    const auto same = std::find_if(
        bests.begin(), bests.end(), [&](const db::Record& one) { return one.task.problem() == entry.task.problem(); });
    if (same == bests.end()) bests.push_back(entry);
    else if (entry.outcome.timing->median_us < same->outcome.timing->median_us) *same = entry;
  }
  return bests;
}

/// The vendor's first choice takes so many times as long as our best, its best a tenth less.
void add_vendor(const std::string& path, const std::vector<double>& times_ours) {
  db::Store store = db::Store::open(path);
  std::vector<db::Record> bests = bests_of(store);
  std::sort(bests.begin(), bests.end(),
      [](const auto& a, const auto& b) { return text(a.task.problem()) < text(b.task.problem()); });
  REQUIRE(bests.size() == times_ours.size());
  for (std::size_t i = 0; i < bests.size(); ++i) {
    const db::Record& best = bests[i];
    db::VendorTimes times;
    times.problem = best.task.problem();
    times.device = best.device;
    times.vendor_version = "13.1.0";
    times.first = {times_ours[i] * best.outcome.timing->median_us, 0.01, "#0 id=66"};
    times.best = {0.9 * times.first.us, 0.01, "#2 id=67"};
    times.offered = times.timed = 4;
    times.samples = 15;
    times.beside.push_back({best.config, best.plan_hash, best.outcome.timing->median_us});
    store.record_vendor(times);
  }
}

nlohmann::json json_of(const TempFolder& folder, std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--format", "json"});
  return nlohmann::json::parse(run(folder, arguments).out);
}

}  // namespace

TEST_CASE("query shows the vendor's times beside the bests, and those that it is faster than", "[vendor]") {
  const TempFolder folder;
  make_database(folder / "tuned.db");
  CHECK_FALSE(contains(run(folder, {"query", "--db", "tuned.db"}).out, "vendor"));
  add_vendor(folder / "tuned.db", {1.05, 0.95});
  const std::string table = run(folder, {"query", "--db", "tuned.db"}).out;
  for (const char* part : {"vendor", "x best", "1.050", "0.945", "0.950", "0.855"}) {
    INFO(part);
    CHECK(contains(table, part));
  }
  const nlohmann::json all = json_of(folder, {"query", "--db", "tuned.db"});
  REQUIRE(all.size() == 2);
  for (const nlohmann::json& one : all) {
    CHECK(one["vendor_us"].get<double>() > one["vendor_best_us"].get<double>());
    CHECK(one["vendor_version"] == "13.1.0");
  }
  const auto first = json_of(folder, {"query", "--db", "tuned.db", "--slower-than-vendor"});
  REQUIRE(first.size() == 1);
  CHECK(first[0]["vendor_us"].get<double>() < first[0]["median_us"].get<double>());
  CHECK(json_of(folder, {"query", "--db", "tuned.db", "--slower-than-vendor=best"}).size() == 2);
  CHECK(json_of(folder, {"query", "--db", "tuned.db", "--slower-than-vendor=first", "--type", "s8s32"}).size() +
            json_of(folder, {"query", "--db", "tuned.db", "--slower-than-vendor=first", "--type", "f16f32"}).size() ==
        1);
  const Finished refused = run(folder, {"query", "--db", "tuned.db", "--slower-than-vendor=second"});
  CHECK(refused.status == 2);
  CHECK(contains(refused.err, "--slower-than-vendor 'second': expected first or best"));
  CHECK(contains(run(folder, {"query", "--db", "tuned.db", "--sql",
                                 "SELECT vendor_us, vendor_best_us FROM best WHERE vendor_us > 0", "--format", "csv"})
                     .out,
      "vendor_us,vendor_best_us\n"));
  CHECK(contains(run(folder, {"export", "--db", "tuned.db", "--format", "csv"}).out,
      ",trust,vendor_us,vendor_best_us,vendor_version\n"));
}

TEST_CASE("explain tells the vendor's first choice and its best, or that there is none", "[vendor]") {
  const TempFolder folder;
  make_database(folder / "tuned.db");
  const std::vector<std::string> explain{"explain", "--db", "tuned.db", "f16f32", "NN", "256", "256", "256"};
  CHECK(contains(run(folder, explain).out, "vendor      none: not timed beside this entry"));
  CHECK(json_of(folder, explain)["vendor"].is_null());
  add_vendor(folder / "tuned.db", {1.05, 0.95});
  const std::string text = run(folder, explain).out;
  CHECK(contains(text, "vendor      cuBLASLt 13.1.0: first choice "));
  CHECK(contains(text, "(x 1.050), best of 4 "));
  const nlohmann::json json = json_of(folder, explain);
  CHECK(json["vendor"]["version"] == "13.1.0");
  CHECK(json["vendor"]["first"]["x"].get<double>() == Approx(1.05));
  CHECK(json["vendor"]["best"]["algorithm"] == "#2 id=67");
  CHECK(json_of(folder, {"explain", "--db", "tuned.db", "f16f32", "NN", "512", "256", "256"})["vendor"]
            .is_null());  // predicted
}

TEST_CASE("merge, and export and import as JSON, carry the vendor's times", "[vendor]") {
  const TempFolder folder;
  make_database(folder / "tuned.db");
  add_vendor(folder / "tuned.db", {1.05, 0.95});
  CHECK(run(folder, {"merge", "--db", "merged.db", "tuned.db"}).status == 0);
  CHECK(run(folder, {"export", "--db", "tuned.db", "--format", "json", "-o", "bests.json"}).status == 0);
  CHECK(run(folder, {"import", "--db", "imported.db", "bests.json"}).status == 0);
  for (const char* file : {"merged.db", "imported.db"})
    CHECK(json_of(folder, {"query", "--db", file, "--slower-than-vendor=best"}).size() == 2);
}

TEST_CASE("tune takes a peer that there is, and none where cuBLASLt would run other code", "[vendor]") {
  const TempFolder folder;
  make_recording(folder / "recorded.jsonl");
  const std::vector<std::string> tune{"tune", "--shape", "256", "--replay", "recorded.jsonl", "--family", "simt"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = tune;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(folder, arguments);
  };
  CHECK(contains(with({"--peer", "mkl"}).err, "--peer 'mkl': expected cublaslt or none"));
  CHECK(contains(with({"--peer", "cublaslt"}).err, "--peer cublaslt: expected only without --replay"));
  CHECK(with({"--peer", "none"}).status == 0);
  CHECK(contains(run(folder, {"tune", "--help"}).out, "--peer"));
}
