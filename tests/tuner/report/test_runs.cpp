// Which runs a report is of, and how long they took.
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/tuner/report/reported_night.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::report;

namespace {

using Uuids = std::vector<std::string>;
Uuids latest_of(const MadeNight& night) {
  Uuids uuids;
  for (const RunFigures& run : matching_runs(runs_of(night.entries, night.runs), "latest")) {
    uuids.push_back(run.run.uuid);
  }
  return uuids;
}

double seconds_at(int second) { return *utc_seconds(MadeNight::at(second)); }

}  // namespace

TEST_CASE("the latest run is the one that was recorded last, whatever the clock said") {
  MadeNight night;
  night.recorded(kEarlier, 100, 110, "done");
  night.run = kEarlier;
  night.second = 101;
  night.passed(1, 20);
  night.recorded(kNight, 100, 110, "done");
  night.runs.back().started_at = "1970-01-01T00:00:10.000Z";
  night.runs.back().ended_at = "1970-01-01T00:00:40.000Z";
  night.run = kNight;
  night.passed(1, 30);
  night.entries.back().created_at = "1970-01-01T00:00:20.000Z";
  CHECK(latest_of(night) == Uuids{kNight});
  const Report report = report_of(night);
  CHECK(report.seconds == 30);
  REQUIRE(report.problems.size() == 1);
  CHECK(report.problems[0].baseline.kind == Baseline::Kind::known);  // what the earlier run found
}

TEST_CASE("the newest entry says which kernels are today's, whatever the clock said") {
  MadeNight night;
  night.run = kEarlier;
  night.environment.measuring_policy = "former";
  night.passed(1, 5);
  night.run = kNight;
  night.environment.measuring_policy = "today";
  night.passed(1, 30);
  night.entries.back().created_at = "1970-01-01T00:00:20.000Z";
  const Report report = report_of(night, "all");
  CHECK(report.left_out == 1);
  REQUIRE(report.problems.size() == 1);
  CHECK(report.problems[0].best->outcome.timing->median_us == 30);
}

TEST_CASE("the latest run is the one that began last, and all are all of them") {
  MadeNight night;
  night.run = kEarlier;
  night.passed(1, 20);
  night.recorded(kNight, 100, 110, "done");  // nothing came of it
  CHECK(report_of(night).selection.runs.at(0).run.uuid == kNight);
  CHECK(report_of(night).problems.empty());
  CHECK(report_of(night, "all").problems.size() == 1);
  CHECK(report_of(night, "bbbb").problems.size() == 1);
  CHECK(matching_runs(runs_of(night.entries, night.runs), "cccc").empty());
}

TEST_CASE("overlapping runs of one host and workload are one latest") {
  MadeNight night;
  night.recorded(kEarlier, 0, 50, "done");
  night.recorded(kNight, 100, 150, "budget");
  night.recorded(kOther, 101, 190, "budget");
  CHECK(latest_of(night) == Uuids{kNight, kOther});
  night.recorded(kLast, 170, 180, "done");  // does not overlap the first of them
  CHECK(latest_of(night) == Uuids{kNight, kOther, kLast});
  night.runs[3].workload = "another";
  CHECK(latest_of(night) == Uuids{kLast});
  night.runs[3].workload = "night";
  night.runs[3].host = "h200";
  CHECK(latest_of(night) == Uuids{kLast});
  CHECK(matching_runs(runs_of(night.entries, night.runs), "all").size() == 4);
}

TEST_CASE("the latest includes runs that were open when it began, and none that was killed long before") {
  MadeNight night;
  night.recorded(kEarlier, 0, {}, "");  // killed
  night.recorded(kNight, 1000, {}, "");
  night.recorded(kOther, 1001, {}, "");
  CHECK(latest_of(night) == Uuids{kNight, kOther});
  night.run = kNight;
  night.second = 1499;
  night.passed(1, 20);
  night.recorded(kLast, 2000, 2100, "budget");
  CHECK(latest_of(night) == Uuids{kNight, kOther, kLast});
  night.runs.back().started_at = MadeNight::at(2101);
  CHECK(latest_of(night) == Uuids{kLast});
}

TEST_CASE("a report of several devices tells of each") {
  MadeNight night;
  night.recorded(kNight, 0, 10, "done");
  night.recorded(kOther, 1, 12, "done");
  night.passed(1, 20);
  night.run = kOther;
  night.device.name = "another";
  night.passed(1, 30);
  const Report report = report_of(night);
  CHECK(report.devices.size() == 2);
  CHECK(report.problems.size() == 2);
  CHECK(report.seconds == 12);
}

TEST_CASE("since leaves out an open run that showed no sign of life from then on") {
  MadeNight night;
  night.recorded(kEarlier, 0, {}, "");  // killed
  night.run = kEarlier;
  night.passed(1, 20);
  night.recorded(kNight, 100, 110, "done");
  night.run = kNight;
  night.second = 104;
  night.passed(2, 10);
  ReportOptions options;
  options.since = seconds_at(60);
  Report report = report_of(night, "all", options);
  REQUIRE(report.selection.runs.size() == 1);
  CHECK(report.selection.runs[0].run.uuid == kNight);
  CHECK(report.began == seconds_at(100));
  CHECK(report.seconds == 10);
  CHECK(report.problems.at(0).baseline.kind == Baseline::Kind::known);
  options.since = seconds_at(1);
  report = report_of(night, "all", options);
  CHECK(report.selection.runs.size() == 2);
  CHECK(report.began == seconds_at(1));
}

TEST_CASE("a run without entries adds no time") {
  MadeNight night;
  night.recorded(kEarlier, 0, 70, "done");
  night.recorded(kNight, 100, 110, "done");
  night.second = 104;
  night.passed(2, 10);
  ReportOptions options;
  options.since = seconds_at(60);
  const Report report = report_of(night, "all", options);
  CHECK(report.selection.runs.size() == 2);
  CHECK(report.began == seconds_at(100));
  CHECK(report.seconds == 10);
}

TEST_CASE("since cuts runs and their time") {
  MadeNight night;
  night.recorded(kNight, 0, 100, "budget");
  night.passed(1, 20);
  night.second = 79;
  night.passed(2, 10);
  ReportOptions options;
  options.since = seconds_at(60);
  const Report report = report_of(night, "all", options);
  CHECK(report.entries == 1);
  CHECK(report.seconds == 40);
  CHECK(report.problems.at(0).baseline.kind == Baseline::Kind::known);
  CHECK(report.problems.at(0).gain() == 2);
}

TEST_CASE("what a run took from a recording is the run's, whenever it was recorded") {
  MadeNight night;
  night.recorded(kNight, 100, 130, "done");
  for (const int second : {3000, 2, 50, 1}) {
    night.second = second;
    night.passed(second, 20);
  }
  for (const char* wanted : {"latest", "all"}) {
    ReportOptions options;
    options.since = seconds_at(60);
    const Report report = report_of(night, wanted, options);
    CHECK(report.entries == 4);
    CHECK(report.seconds == 30);
    REQUIRE(report.problems.size() == 1);
    CHECK(report.problems[0].seconds >= 0);
    CHECK(report.problems[0].seconds <= 30);
    CHECK(report.problems[0].best_found_at >= 0);
    CHECK(report.telemetry.at(0).series.empty());  // clocks of other nights
  }
}

TEST_CASE("no stretch of work is shorter than nothing, whatever the order of times") {
  MadeNight night;  // of runs without a record, as a merge of several databases has them
  for (const int second : {500, 20, 1500, 3}) {
    night.second = second;
    night.passed(second, 20);
  }
  CHECK(report_of(night).seconds == 497);
  for (const Stretch& stretch : report_of(night).selection.stretches) CHECK(stretch.began <= stretch.ended);
  night.recorded(kNight, 100, 40, "done");  // the clock was set back
  CHECK(report_of(night).seconds == 0);
  CHECK(report_of(night).selection.runs.at(0).ended == report_of(night).selection.runs.at(0).began);
}

TEST_CASE("of a run without a record, pauses are no work") {
  MadeNight night;
  night.passed(1, 20);
  night.second = 10;
  night.passed(2, 20);  // 10 s after the first
  night.second = 3600;
  night.passed(3, 20);
  night.passed(4, 20);
  const Report report = report_of(night);
  CHECK(report.seconds == 11);
  CHECK(report.problems.at(0).seconds == Approx(10 + kLongestPause + 1));
  CHECK(report.selection.stretches.size() == 2);
}
