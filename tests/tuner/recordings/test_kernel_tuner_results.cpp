// Kernel Tuner's T4 results: its own hub's form, and what is wrong with others.
#include <string>
#include <utility>

#include "db/store/error.hpp"
#include "tests/catch.hpp"
#include "tests/tuner/made_kernel_tuner_cache.hpp"
#include "tests/tuner/run_binary.hpp"
#include "tuner/recordings/outcome_tables.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;
using namespace tilesmith::tuner;

namespace {

std::string result(int x, const std::string& mode, const std::string& validity, const std::string& measurements,
    const std::string& objective = "time") {
  return "{\"timestamp\": \"2023-12-22 09:54:05.502007+00:00\", \"configuration\": {\"X\": " + std::to_string(x) +
         ", \"MODE\": \"" + mode +
         "\"}, \"times\": {\"compilation\": 9.5, \"runtimes\": [1.5, 2.5]}, \"invalidity\": \"" + validity +
         "\", \"correctness\": 1, \"measurements\": [" + measurements + "], \"objectives\": [\"" + objective + "\"]}";
}

std::string measured(const std::string& value, const std::string& name = "time", const std::string& unit = "") {
  return "{\"name\": \"" + name + "\", \"value\": " + value + ", \"unit\": \"" + unit + "\"}";
}

std::string file_of(const std::string& results, const std::string& unit = "miliseconds") {
  return "{\"metadata\": {\"timeunit\": \"" + unit + "\"}, \"results\": [" + results +
         "], \"schema_version\": \"1.0.0\"}";
}

std::string whole() {
  return file_of(result(4, "slow", "correct", measured("3.0")) + ", " + result(2, "fast", "correct", measured("1.5")) +
                 ", " + result(4, "fast", "runtime", measured("\"RuntimeFailedConfig\"")) + ", " +
                 result(2, "slow", "compile", ""));
}

OutcomeTable loaded_results(const std::string& content) {
  const TempFolder folder;
  write_file(folder / "results.json", content);
  return std::move(load_outcome_tables(folder / "results.json", 1).tables.at(0));
}

std::string results_refusal(const std::string& content) {
  try {
    loaded_results(content);
  } catch (const db::StoreError& error) {
    const std::string message = error.what();
    CHECK(lines_of(message) == 0);
    CHECK(contains(message, "results.json: "));
    CHECK(contains(message, "expected"));
    return message;
  }
  return "";
}

void check_whole(const OutcomeTable& table) {
  CHECK(table.name == "results.json");
  CHECK(table.space.size() == 4);
  CHECK(table.ok == 2);
  CHECK(table.optimum_us == 1500);
  CHECK(table.space.config(0).text() == "kernel{MODE=0,X=2}");  // by name, values sorted
  CHECK(table.outcomes == std::vector<Score>{1500, std::nullopt, std::nullopt, 3000});
}

}  // namespace

TEST_CASE("T4 results give every config; those whose invalidity is not 'correct' failed") {
  check_whole(loaded_results(whole()));
  check_whole(loaded_results(gzipped(whole())));
}

TEST_CASE("times of T4 results are in the unit of the measurement, else of the file, else ms") {
  CHECK(loaded_results(file_of(result(1, "a", "correct", measured("3", "time", "us")))).optimum_us == Approx(3));
  CHECK(loaded_results(file_of(result(1, "a", "correct", measured("3")), "microseconds")).optimum_us == Approx(3));
  CHECK(loaded_results("{\"results\": [" + result(1, "a", "correct", measured("3")) + "]}").optimum_us == 3000);
  CHECK(contains(results_refusal(file_of(result(1, "a", "correct", measured("3", "time", "weeks")))), "'weeks'"));
}

TEST_CASE("an objective of T4 results other than time is read") {
  const auto one = [](int x, const std::string& value) {
    return result(x, "a", "correct", measured("7") + ", " + measured(value, "GFLOP/s"), "GFLOP/s");
  };
  const OutcomeTable table = loaded_results(file_of(one(1, "10") + ", " + one(2, "40")));
  REQUIRE(table.objective);
  CHECK(table.objective->name == "GFLOP/s");
  CHECK(table.objective->optimum == 40);
  CHECK(table.optimum_us / *table.outcomes[0] == Approx(0.25));
}

TEST_CASE("wrong T4 results are refused in one line that names the result") {
  const std::string good = result(1, "a", "correct", measured("3"));
  CHECK(contains(results_refusal(file_of("")), "\"results\" is empty"));
  CHECK(contains(results_refusal("{\"results\": 3}"), "\"results\" is 3"));
  CHECK(contains(results_refusal(file_of(good + ", 7")), "result 2: is 7"));
  CHECK(contains(results_refusal(file_of(good + ", {\"configuration\": 1}")), "result 2: \"configuration\" is 1"));
  CHECK(contains(results_refusal(file_of(good + ", {\"configuration\": {\"X\": 1}, \"invalidity\": \"correct\"}")),
      "result 2: \"configuration\" has no MODE"));
  CHECK(contains(results_refusal(file_of(result(1, "a", "correct", measured("3", "energy")))),
      "result 1: \"measurements\" has no value of \"time\""));
  CHECK(contains(results_refusal(file_of(good + ", " + good)), "comes twice"));
  CHECK(contains(results_refusal(file_of(result(1, "a", "runtime", ""))), "no config has a \"time\""));
}
