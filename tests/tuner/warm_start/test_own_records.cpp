// What a problem's own records say of tiles that a parameter, added since, may carry past the fastest.
#include "tuner/warm_start/own_records.hpp"

#include <optional>
#include <string>
#include <vector>

#include "tests/catch.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;

namespace {

const std::vector<Parameter> kOwnParameters{{"block_m", {128}, ""}, {"block_n", {128, 176, 256}, ""},
    {"stages", {2, 3, 4, 5, 6, 7, 8, 9, 10}, ""}, {"even", {0, 1}, ""}};

Config before(int block_n, int stages) {
  return Config("f", {{"block_m", 128}, {"block_n", block_n}, {"stages", stages}});
}
Config now(int block_n, int stages, int even) {
  return Config("f", {{"block_m", 128}, {"block_n", block_n}, {"stages", stages}, {"even", even}});
}

/// All but what `even` has got since.
const db::FirstTried kFirstTried = [] {
  db::FirstTried tried;
  for (const Parameter& parameter : kOwnParameters) {
    for (const int value : parameter.values) {
      if (parameter.name != "even") tried[{"f", parameter.name, value}] = 0;
    }
  }
  return tried;
}();

db::Record timed(const Config& config, double us) {
  db::Record record;
  record.id = NewValues::kTelling;
  record.config = config;
  record.outcome = {db::Status::ok, "", db::Timing{us, 0.01, 20, 0, 0, 0, 1}};
  return record;
}

std::vector<Config> varied(
    const std::vector<db::Record>& record, const std::vector<Parameter>& parameters = kOwnParameters) {
  const Today today{[](const Config& recorded) {
                      return std::optional(
                          recorded.has("even") ? recorded : now(recorded.at("block_n"), recorded.at("stages"), 0));
                    },
      [&](const Config&) { return &parameters; }, [](const std::string&) { return db::Environment{}; }, &kFirstTried};
  return own_records(record, today).varied;
}

/// Of a family that has had no other parameters, measured by that environment now. `parameters` are referred to.
Today as_recorded(const std::vector<Parameter>& parameters, const db::Environment& now) {
  return {[](const Config& recorded) { return std::optional(recorded); },
      [&parameters](const Config&) { return &parameters; }, [now](const std::string&) { return now; }};
}

/// Several configs of the fastest tile, and one of a tile 3% behind.
std::vector<db::Record> of_two_tiles(double fastest_us) {
  std::vector<db::Record> record;
  for (const int stages : {3, 4, 5, 6, 7, 8, 9, 10}) record.push_back(timed(before(256, stages), fastest_us));
  record.push_back(timed(before(176, 5), fastest_us * 1.03));
  record.push_back(timed(before(128, 5), fastest_us * 1.2));
  return record;
}

}  // namespace

TEST_CASE(
    "the fastest and the best of a tile that is a little behind are tried with a parameter that was added since") {
  const std::vector<Config> found = varied(of_two_tiles(200));
  REQUIRE(found.size() > 2);
  CHECK(found[0] == now(256, 10, 1));  // of equal times the first by its text
  CHECK(found[1] == now(176, 5, 1));
}

TEST_CASE("of short launches the fastest few alone are tried with it") {
  for (const Config& config : varied(of_two_tiles(10))) CHECK(config.at("block_n") == 256);
}

TEST_CASE("what one tile tried of a new value says nothing of another, and is not tried again") {
  std::vector<db::Record> record = of_two_tiles(200);
  record.insert(record.begin(), timed(now(256, 4, 1), 230));
  CHECK(varied(record) == std::vector{now(176, 5, 1)});
  record.insert(record.begin(), timed(now(176, 6, 1), 230));
  CHECK(varied(record).empty());
}

TEST_CASE("a tile with many values to try leaves places to another") {
  std::vector<Parameter> parameters = kOwnParameters;
  parameters.back().values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<db::Record> record;
  for (const int stages : {4, 5, 6, 7, 8, 9, 10}) record.push_back(timed(before(256, stages), 200));
  record.push_back(timed(before(176, 5), 205));
  const std::vector<Config> found = varied(record, parameters);
  REQUIRE(found.size() == 8);
  CHECK(std::vector(found.begin(), found.begin() + 4) ==
        std::vector{now(256, 10, 1), now(176, 5, 1), now(256, 10, 2), now(176, 5, 2)});
}

TEST_CASE("what the latest run found fastest comes before what was faster on another day, then all go by time") {
  const std::vector<Parameter> parameters{{"x", {1, 2, 3}, ""}};
  const auto config = [](int x) { return Config("f", {{"x", x}}); };
  const db::Environment now{"now", "", "2", ""}, retired{"then", "", "2", ""}, of_former_driver{"now", "", "1", ""};
  const Today today = as_recorded(parameters, now);
  const auto entry = [&](int x, double us, const std::string& run, const db::Environment& environment) {
    db::Record record = timed(config(x), us);
    record.run = run;
    record.environment = environment;
    return record;
  };
  // Newest first. On the hot day 2 was lucky at first, and fell behind 1 in the final benchmark.
  const auto two_days = [&](const db::Environment& environment) {
    return std::vector{entry(2, 130, "hot day", environment), entry(1, 120, "hot day", environment),
        entry(1, 121, "hot day", environment), entry(2, 110, "hot day", environment),
        entry(2, 90, "cool day", environment), entry(3, 95, "cool day", environment)};
  };
  CHECK(own_records(two_days(retired), today).former_times == std::vector{config(1), config(3), config(2)});
  CHECK(own_records(two_days(of_former_driver), today).to_reverify == std::vector{config(1), config(3), config(2)});
  std::vector<db::Record> tried_since = two_days(retired);
  tried_since.insert(tried_since.begin(), entry(1, 119, "today", now));
  CHECK(own_records(tried_since, today).former_times == std::vector{config(3), config(2)});
}

TEST_CASE(
    "a candidate was in a final benchmark if one machine has measured it twice: two machines' single times say nothing of that") {
  const std::vector<Parameter> parameters{kOwnParameters};
  const auto known_after = [&](const std::vector<std::string>& machines) {
    std::vector<db::Record> record;
    for (const std::string& machine : machines) {
      record.push_back(timed(now(128, 4, 0), 10));
      record.back().origin = machine;
    }
    const OwnRecords own = own_records(record, as_recorded(parameters, db::Environment{}));
    REQUIRE(own.known.size() == 1);
    return own.known[0].repeated;
  };
  CHECK_FALSE(known_after({"a"}));
  CHECK_FALSE(known_after({"b", "a"}));
  CHECK(known_after({"b", "b"}));
  CHECK(known_after({"b", "a", "a"}));
}
