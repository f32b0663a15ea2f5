// tilesmith simulate: its tables, files and refusals.
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/catch.hpp"
#include "tests/tuner/made_kernel_tuner_cache.hpp"
#include "tests/tuner/made_recording.hpp"
#include "tests/tuner/run_binary.hpp"
#include "tuner/search/strategy.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;

namespace {

std::vector<std::string> simulate(std::vector<std::string> more) {
  more.insert(more.begin(), "simulate");
  return more;
}

void check_simulate_refuses(const std::vector<std::string>& arguments, const std::vector<std::string>& parts) {
  const TempFolder folder;
  write_file(folder / "cache.json", made_cache());
  write_file(folder / "cut.json", made_cache().substr(0, 100));
  write_file(folder / "text.json", "neither of them\n");
  make_recording(folder / "made.jsonl");
  const Finished result = run(folder, simulate(arguments));
  INFO(result.err);
  CHECK(result.status == 2);
  CHECK(result.out.empty());
  CHECK(lines_of(result.err) == 1);
  for (const std::string& part : parts) CHECK(contains(result.err, part));
}

}  // namespace

TEST_CASE("simulate prints a table a recording and one of the means") {
  const TempFolder folder;
  write_file(folder / "a.json", made_cache());
  write_file(folder / "b.json.gz", gzipped(made_cache_open()));
  const Finished one = run(folder, simulate({"--recording", "a.json", "--runs", "5"}));
  INFO(one.err);
  REQUIRE(one.status == 0);
  CHECK(contains(one.out, "a.json: 24 configs, 23 ok, optimum 2000.0 us\nstrategy "));
  CHECK(contains(one.out, "score  ms/run\n" + std::string(tuner::kDefaultStrategy) + " "));
  CHECK_FALSE(contains(one.out, "Mean of"));
  const Finished two =
      run(folder, simulate({"--recording", "a.json", "--recording", "b.json.gz", "--strategy", "all", "--runs", "5"}));
  REQUIRE(two.status == 0);
  CHECK(contains(two.out, "b.json.gz: 24 configs"));
  CHECK(contains(two.out, "Mean of 2 recordings\nstrategy"));
  for (const tuner::StrategyInfo& info : tuner::strategies())
    CHECK(contains(two.out, "\n" + std::string(info.name) + " "));
}

TEST_CASE("simulate gives what is reached after the last evaluation, whichever it is") {
  const TempFolder folder;
  write_file(folder / "a.json", made_cache());
  const Finished few = run(folder, simulate({"--recording", "a.json", "--runs", "5", "--evaluations", "10"}));
  CHECK(contains(few.out, "         after 10  ms/run\n"));
  CHECK(contains(few.out, "below 0: random search is better"));
  const Finished json =
      run(folder, simulate({"--recording", "a.json", "--runs", "5", "--evaluations", "10", "--format", "json"}));
  const auto record = nlohmann::json::parse(json.out).at(0);
  CHECK(record.at("mean_10") > 0);
  CHECK(record.at("mean_25").is_null());
}

TEST_CASE("simulate gives the same figures as JSON and CSV, and the same again") {
  const TempFolder folder;
  make_recording(folder / "made.jsonl.zst");
  const std::vector<std::string> arguments = simulate({"--recording", "made.jsonl.zst", "--min-configs", "8",
      "--strategy", "random,local", "--strategy", "random", "--runs", "20", "--format"});
  const auto with = [&](const char* format) {
    auto all = arguments;
    all.emplace_back(format);
    return run(folder, all);
  };
  const Finished text = with("json");
  REQUIRE(text.status == 0);
  auto records = nlohmann::json::parse(text.out);
  REQUIRE(records.size() == 6);  // two strategies on two problems, and the means
  CHECK(records[0]["recording"] == "made.jsonl.zst f16f32 NN 256 256 256");
  CHECK(records[0]["strategy"] == "random");
  CHECK(records[0]["score"] == 0);
  CHECK(records[0]["evaluations"] == 8);
  CHECK(records[0]["mean_25"].is_null());
  CHECK(records[4]["recording"] == "mean");
  CHECK(records[4]["recordings"] == 2);
  auto again = nlohmann::json::parse(with("json").out);
  for (auto* all : {&records, &again}) {
    for (auto& record : *all) record.erase("seconds_per_run");
  }
  CHECK(records == again);
  const Finished csv = with("csv");
  CHECK(lines_of(csv.out) == 7);
  CHECK(csv.out.substr(0, 30) == "recording,strategy,recordings,");
  CHECK(contains(csv.out, ",score,mean_25,tenth_25,minimum_25,mean_50,"));
}

TEST_CASE("simulate says how many problems are left out as too small") {
  const TempFolder folder;
  make_recording(folder / "made.jsonl");
  write_file(folder / "cache.json", made_cache());
  const Finished result =
      run(folder, simulate({"--recording", "made.jsonl", "--recording", "cache.json", "--runs", "2"}));
  CHECK(result.status == 0);
  CHECK(contains(result.err, "made.jsonl: 0 problems simulated; 2 left out: fewer than 50 configs recorded"));
  check_simulate_refuses({"--recording", "cut.json"}, {"cut.json: ends before its first whole cache entry"});
}

TEST_CASE("simulate draws a picture that stands alone") {
  const TempFolder folder;
  write_file(folder / "a&b.json", made_cache());
  const Finished result = run(folder,
      simulate({"--recording", "a&b.json", "--strategy", "local,exhaustive", "--runs", "5", "--plot", "curves.svg"}));
  REQUIRE(result.status == 0);
  const std::string svg = read_file(folder / "curves.svg");
  CHECK(svg.substr(0, 41) == "<svg xmlns=\"http://www.w3.org/2000/svg\" v");
  for (const char* part : {"a&amp;b.json", ">local<", ">exhaustive<", ">random<", "evaluations", "</svg>\n"})
    CHECK(contains(svg, part));
  CHECK_FALSE(contains(svg, "nan"));
  CHECK_FALSE(contains(svg, "inf"));
}

TEST_CASE("simulate refuses bad options in one line") {
  check_simulate_refuses({}, {"--recording is required"});
  check_simulate_refuses({"--recording", "cache.json", "--strategy", "local,best"},
      {"--strategy 'best': unknown strategy; expected one of forest, local, "});
  check_simulate_refuses({"--recording", "cache.json", "--runs", "0"}, {"--runs"});
  check_simulate_refuses({"--recording", "cache.json", "--evaluations", "-1"}, {"--evaluations"});
  check_simulate_refuses({"--recording", "cache.json", "--width", "x"}, {"--width"});
  check_simulate_refuses(
      {"--recording", "cache.json", "--format", "xml"}, {"--format 'xml': expected table, json or csv"});
  check_simulate_refuses(
      {"--recording", "cache.json", "--plot", "none/x.svg"}, {"--plot 'none/x.svg'", "does not exist"});
  check_simulate_refuses({"--recording", "text.json"},
      {"text.json: ", "expected a recording, or a cache or T4 results file of Kernel Tuner"});
  check_simulate_refuses({"--recording", "missing.json"}, {"missing.json: cannot be read"});
  check_simulate_refuses({"--recording", "cache.json", "--recording", "."}, {".: is a folder"});
}

TEST_CASE("Ctrl-C ends simulate at once with status 130 and prints no figures") {
  const TempFolder folder;
  write_file(folder / "cache.json", made_cache());
  Started process(folder, simulate({"--recording", "cache.json", "--runs", "1000000", "--log", "run.log"}));
  for (int i = 0; i < 500 && !contains(process.err_so_far(), "simulating"); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  process.signal(SIGINT);
  const auto asked = std::chrono::steady_clock::now();
  const Finished result = process.wait();
  CHECK(std::chrono::steady_clock::now() - asked < std::chrono::seconds(2));
  CHECK(result.status == 130);
  CHECK(result.out.empty());
}
