// Which times are called bests: query, the exports and explain judge alike, whatever a former kernel or measuring
// policy took.
#include <algorithm>
#include <atomic>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/catch.hpp"
#include "tests/tuner/made_recording.hpp"
#include "tests/tuner/run_binary.hpp"
#include "tuner/bests/bests_today.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;

namespace {

const std::string kProblem = "f16f32 NN 256 256 256", kRetiredOnly = "f16f32 NN 64 64 64",
                  kFormerPolicy = "f16f32 NN 96 96 96", kFormerDriver = "f16f32 NN 32 32 32";

/// `entry` with such a time. It is to be recorded before all others of the database, though its clock was ahead of
/// theirs.
db::Record earlier(db::Record entry, double median_us) {
  db::Timing timing;
  timing.median_us = median_us;
  timing.samples = 30;
  entry.outcome = {db::Status::ok, "", timing};
  entry.created_at = "2026-12-01T00:00:00.000Z";
  return entry;
}

/// What make_database() makes, and of its first problem faster times: of a former template, of a former measuring
/// policy and of a config that no rule allows. Three problems besides that have nothing but former times.
void make_aged_database(const std::string& path) {
  db::Store store = db::Store::open(path);
  std::string error;
  const auto of = [&](const std::string& problem) { return made_record({parse_problem(problem, error).value()}, 12); };
  db::Record retired = earlier(of(kProblem)[8], 1), former = earlier(of(kProblem)[9], 2),
             illegal = earlier(of(kProblem)[10], 3);
  retired.plan_hash = "former";
  former.environment.measuring_policy = "cold-1";
  illegal.config = Config("simt", {{"no_such", 1}});
  for (const db::Record& entry : {former, illegal, retired}) store.record(entry);
  db::Record only = earlier(of(kRetiredOnly)[0], 4), by_policy = earlier(of(kFormerPolicy)[0], 5),
             by_driver = earlier(of(kFormerDriver)[0], 6);
  only.plan_hash = "former";
  by_policy.environment.measuring_policy = "cold-1";
  by_driver.environment.driver_version = "500";
  for (const db::Record& entry : {only, by_policy, by_driver}) store.record(entry);
  fill(store);
}

nlohmann::json json_of(const TempFolder& folder, std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--format", "json", "--db", "tuned.db"});
  const Finished result = run(folder, arguments);
  INFO(result.err);
  REQUIRE(result.status == 0);
  return nlohmann::json::parse(result.out);
}

std::string problem_of(const nlohmann::json& row) {
  return row["type"].get<std::string>() + " " + row["trans"].get<std::string>() + " " + row["m"].dump() + " " +
         row["n"].dump() + " " + row["k"].dump();
}

}  // namespace

TEST_CASE("query, the exports and explain name the same bests and the same trust") {
  const TempFolder folder;
  make_aged_database(folder / "tuned.db");
  const nlohmann::json rows = json_of(folder, {"query"});
  const nlohmann::json exported = json_of(folder, {"export"}).at("entries");
  REQUIRE(rows.size() == 4);
  REQUIRE(exported.size() == 4);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const nlohmann::json explained = json_of(folder, {"explain", problem_of(rows[i])});
    INFO(problem_of(rows[i]));
    CHECK(explained["level"] == "exact");
    CHECK(explained["config"] == rows[i]["config"]);
    CHECK(explained["trust"] == rows[i]["trust"]);
    CHECK(explained["record"]["median_us"] == rows[i]["median_us"]);
    CHECK(exported[i]["problem"] == explained["problem"]);
    CHECK(exported[i]["config"] == rows[i]["config"]);
    CHECK(exported[i]["trust"] == rows[i]["trust"]);
    const std::string expected = problem_of(rows[i]) == kFormerPolicy   ? "remeasure"
                                 : problem_of(rows[i]) == kFormerDriver ? "reverify"
                                                                        : "valid";
    CHECK(rows[i]["trust"] == expected);
  }
  const nlohmann::json of_sql = json_of(folder, {"query", "--sql", "SELECT * FROM Best"});
  REQUIRE(of_sql.size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const char* column : {"type", "trans", "m", "n", "k", "config", "median_us", "trust"})
      CHECK(of_sql[i][column] == rows[i][column]);
  }
  CHECK(json_of(folder, {"devices"})["known"][0]["bests"] == 4);
  CHECK(json_of(folder, {"query", "--shape", "256"})[0]["median_us"] == 10.0);
  CHECK(json_of(folder, {"query", "--shape", "256"})[0]["candidates"] == 11);
  CHECK_FALSE(json_of(folder, {"explain", kRetiredOnly})["level"] == "exact");
  for (const char* format : {"csv", "markdown", "header"}) {
    const Finished text = run(folder, {"export", "--format", format, "--db", "tuned.db"});
    INFO(format);
    CHECK(contains(text.out, "remeasure"));
    CHECK_FALSE(contains(text.out, "retired"));
    CHECK(lines_of(text.err) == 1);
    CHECK(contains(text.err, "1 problem without a time that counts today, 1 problem with a faster time"));
  }
}

TEST_CASE("a device's bests are judged by its own newest records, whatever another one's driver and policy are") {
  const TempFolder folder;
  make_database(folder / "tuned.db");
  {
    db::Store store = db::Store::open(folder / "tuned.db");
    for (db::Record& entry : made_record(made_problems(), 8)) {
      entry.device.name = "NVIDIA H100";
      entry.environment.driver_version = "600";
      entry.environment.measuring_policy = "cold-9";
      entry.created_at = "2026-03-01T12:00:00.000Z";
      store.record(entry);
    }
  }
  const nlohmann::json rows = json_of(folder, {"query"});
  CHECK(rows.size() == 4);
  for (const nlohmann::json& row : rows) CHECK(row["trust"] == "valid");
  for (const char* device : {"H200", "H100"})
    CHECK(json_of(folder, {"explain", kProblem, "--device", device})["trust"] == "valid");
}

TEST_CASE("the best few of each problem are exported best first, and an import of them chooses the same best") {
  const TempFolder folder;
  make_database(folder / "tuned.db");
  const nlohmann::json bests = json_of(folder, {"query"});
  REQUIRE(
      run(folder, {"export", "--format", "json", "--per-problem", "3", "--db", "tuned.db", "-o", "few.json"}).status ==
      0);
  REQUIRE(run(folder, {"import", "few.json", "--db", "few.db"}).status == 0);
  const db::Store few = db::Store::open_read_only(folder / "few.db");
  std::map<std::string, std::size_t> counts;
  for (const db::Record& entry : few.records()) ++counts[text(entry.task.problem())];
  REQUIRE(counts.size() == bests.size());
  for (const auto& [problem, count] : counts) CHECK(count == 3);
  const nlohmann::json again = nlohmann::json::parse(run(folder, {"query", "--db", "few.db", "--format", "json"}).out);
  REQUIRE(again.size() == bests.size());
  for (std::size_t i = 0; i < bests.size(); ++i) CHECK(again[i]["config"] == bests[i]["config"]);
  const nlohmann::json all = nlohmann::json::parse(
      run(folder, {"query", "--all", "--status", "ok", "--sort", "time", "--db", "few.db", "--format", "json"}).out);
  CHECK(all.size() == 3 * bests.size());
  const Finished refused = run(folder, {"export", "--format", "header", "--per-problem", "3", "--db", "tuned.db"});
  CHECK(refused.status == 2);
  CHECK(contains(refused.err, "--per-problem"));
}

TEST_CASE("bests are read while tuners add devices") {
  const TempFolder folder;
  make_database(folder / "tuned.db");
  std::atomic<bool> ended{false};
  std::thread writer([&] {
    db::Store store = db::Store::open(folder / "tuned.db");
    db::Record entry = made_record(made_problems(), 1).front();
    for (int device = 0; device < 60; ++device) {
      entry.device.name = "NVIDIA H200 " + std::to_string(device);
      store.record(entry);
    }
    ended = true;
  });
  const db::Store store = db::Store::open_read_only(folder / "tuned.db");
  std::size_t found = 0;
  bool last = false;
  CHECK_NOTHROW([&] {
    while (!last) {
      last = ended;
      found = tuner::bests_today(store, {}, false).bests.size();
    }
  }());
  writer.join();
  CHECK(found == 2 + 60);
}

TEST_CASE("a faster time of a former driver beside a valid best is left out, and named as what it is") {
  const TempFolder folder;
  {
    db::Record by_driver = earlier(made_record(made_problems(), 12)[9], 1);
    by_driver.environment.driver_version = "500";
    db::Store::open(folder / "tuned.db").record(by_driver);
  }
  make_database(folder / "tuned.db");
  CHECK(contains(run(folder, {"query", "--db", "tuned.db"}).err,
      "1 problem with a faster time that does not count (retired, or to be verified anew, "));
  const nlohmann::json rows = json_of(folder, {"query", "--shape", "256", "--retired"});
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["trust"] == "valid");
  CHECK(rows[1]["trust"] == "reverify");
  CHECK(rows[1]["median_us"] == 1.0);
  CHECK(contains(run(folder, {"export", "--help"}).out, "reverify"));
}

TEST_CASE("times that do not count are left out with one line, and shown as what they are by --retired") {
  const TempFolder folder;
  make_aged_database(folder / "tuned.db");
  const Finished table = run(folder, {"query", "--db", "tuned.db"});
  CHECK(lines_of(table.out) == 5);
  CHECK(contains(table.out, "trust"));
  CHECK(contains(table.out, "remeasure"));
  CHECK_FALSE(contains(table.out, "retired"));
  CHECK(lines_of(table.err) == 1);
  CHECK(contains(table.err, "--retired"));
  CHECK(run(folder, {"query", "--type", "s8s32", "--db", "tuned.db"}).err.empty());

  const nlohmann::json of_one = json_of(folder, {"query", "--shape", "256", "--retired"});
  REQUIRE(of_one.size() == 2);
  CHECK(of_one[0]["trust"] == "valid");  // what would run comes first
  CHECK(of_one[1]["trust"] == "retired");
  CHECK(of_one[1]["median_us"] == 1.0);
  const nlohmann::json only = json_of(folder, {"export", "--retired"}).at("entries");
  CHECK(only.size() == 6);
  CHECK(std::count_if(only.begin(), only.end(), [](const nlohmann::json& one) { return one["trust"] == "retired"; }) ==
        2);
  CHECK(run(folder, {"query", "--retired", "--db", "tuned.db"}).err.empty());
  CHECK(lines_of(run(folder, {"query", "--all", "--db", "tuned.db"}).out) == 23);

  for (const std::vector<std::string>& refused :
      {std::vector<std::string>{"query", "--all", "--retired", "--db", "tuned.db"},
          {"export", "--format", "recording", "-o", "x.jsonl", "--retired", "--db", "tuned.db"}}) {
    const Finished result = run(folder, refused);
    CHECK(result.status == 2);
    CHECK(contains(result.err, "--retired"));
    CHECK(lines_of(result.err) == 1);
  }
}
