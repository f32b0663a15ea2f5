// The figures of a report, from made-up records.
#include <cmath>

#include "tests/catch.hpp"
#include "tests/tuner/report/reported_night.hpp"
#include "tuner/report/report.hpp"

using namespace tilesmith;
using namespace tilesmith::tests;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::report;

TEST_CASE("a report counts candidates, failures, measurements and the time of its run") {
  MadeNight night;
  night.recorded(kNight, 0, 10, "done");
  night.passed(1, 40);
  night.failed(2, db::Status::mismatch, "C[0,1] is 7, expected 9");
  night.passed(3, 20);
  night.passed(3, 21);  // again, in a final benchmark
  const Report report = report_of(night);
  CHECK(report.entries == 4);
  CHECK(report.tried == 3);
  CHECK(report.failed == 1);
  CHECK(report.seconds == 10);
  REQUIRE(report.problems.size() == 1);
  const ProblemFigures& problem = report.problems.front();
  CHECK(problem.evaluations == 4);
  CHECK(problem.seconds == 4);
  CHECK(problem.best->outcome.timing->median_us == 21);
  CHECK(problem.best_is_new);
  CHECK(problem.best_found_after == 3);
  CHECK(problem.best_found_at == 3);
  CHECK(problem.baseline.kind == Baseline::Kind::first_config);
  CHECK(problem.baseline.us == 40);
  CHECK(problem.gain() == Approx(40.0 / 21));
  CHECK(problem.convergence.best_us == std::vector<double>{40, 40, 20, 21});
  CHECK(problem.convergence.times_us == std::vector<double>{40, 0, 20, 21});
}

TEST_CASE("what the database held before is the baseline, as timed in the same final benchmark if it was in it") {
  MadeNight night;
  night.run = kEarlier;
  night.passed(1, 30);
  night.run = kNight;
  night.passed(2, 24);
  const Report report = report_of(night, kNight);
  REQUIRE(report.problems.size() == 1);
  CHECK(report.problems[0].tried == 1);
  CHECK(report.problems[0].baseline.kind == Baseline::Kind::known);
  CHECK(report.problems[0].gain() == Approx(30.0 / 24));
  CHECK(report.problems[0].convergence.best_before_us() == 30);
  night.passed(1, 32);
  CHECK(report_of(night, kNight).problems[0].gain() == Approx(32.0 / 24));
}

TEST_CASE("a best that was known before and not beaten is said to be of before") {
  MadeNight night;
  night.run = kEarlier;
  night.passed(1, 20);
  night.run = kNight;
  night.passed(2, 24);
  const ProblemFigures problem = report_of(night, kNight).problems.at(0);
  CHECK_FALSE(problem.best_is_new);
  CHECK(problem.best->config == MadeNight::config(1));
  CHECK(problem.gain() == 1);
}

TEST_CASE("records of changed kernels is neither best nor baseline, and is counted as left out") {
  MadeNight night;
  night.passed(1, 5).plan_hash = "former";
  night.passed(2, 24);
  const Report report = report_of(night);
  CHECK(report.left_out == 1);
  CHECK(report.problems.at(0).best->outcome.timing->median_us == 24);
  CHECK(report.problems.at(0).gain() == 1);
}

TEST_CASE("a faster time of a former driver is no best beside one of today's, and a trial says nothing of today") {
  MadeNight night;
  night.run = kEarlier;
  night.passed(1, 5);
  night.run = kNight;
  night.environment.driver_version = "600";
  night.passed(2, 24);
  const std::string policy = night.environment.measuring_policy;
  night.environment.measuring_policy = db::kTrialPolicy;
  night.passed(3, 1);
  night.environment.measuring_policy = policy;
  const Report report = report_of(night, kNight);
  CHECK(report.problems.at(0).best->outcome.timing->median_us == 24);
  CHECK(report.problems.at(0).convergence.best_us == std::vector<double>{5, 24});
  CHECK(report.problems.at(0).baseline.us == 5);
}

TEST_CASE("failures are counted by kind and by message without its numbers") {
  MadeNight night;
  night.failed(1, db::Status::spilled, "spills 16 bytes");
  night.failed(2, db::Status::spilled, "spills 240 bytes");
  night.failed(3, db::Status::spilled, "spills much");
  night.failed(4, db::Status::timed_out, "took 20 s");
  const Report report = report_of(night);
  REQUIRE(report.failures.size() == 2);
  CHECK(report.failures[0].status == db::Status::spilled);
  CHECK(report.failures[0].count == 3);
  REQUIRE(report.failures[0].messages.size() == 2);
  CHECK(report.failures[0].messages[0].count == 2);
  CHECK(report.failures[0].messages[0].example.outcome.message == "spills 240 bytes");
  CHECK(report.failures[1].count == 1);
  CHECK_FALSE(report.problems.at(0).best);
  CHECK(report.outlook.problems.at(0).prospect == Prospect::too_few);
}

TEST_CASE("telemetry leaves out what is unknown, and marks low clocks and disturbed entries") {
  MadeNight night;
  night.passed(1, 20);
  night.passed(2, 20).outcome.timing->clock_mhz = 1170;
  night.passed(3, 20).outcome.timing->drift = 1.2;
  for (db::Record& entry : night.entries) entry.outcome.timing->power_w = 0;
  const Report report = report_of(night);
  REQUIRE(report.telemetry.size() == 1);
  const std::vector<Series>& series = report.telemetry[0].series;
  REQUIRE(series.size() == 3);
  CHECK(series[0].name == "SM clock");
  CHECK(series[0].marked == 1);
  CHECK(series[0].readings[1].marked);
  CHECK(series[0].median() == 1300);
  CHECK(series[1].name == "Temperature");
  CHECK(series[2].name == "Drift");
  CHECK(series[2].marked == 1);
  CHECK(series[2].highest() == Approx(20));
}

TEST_CASE("a control's drift is no disturbance, the clock probe's is") {
  MadeNight night;
  night.passed(1, 49.9).outcome.timing->drift = 1.2;
  night.passed(2, 50).outcome.timing->drift = 1.2;
  night.passed(3, 800).outcome.timing->drift = 0.8;
  night.passed(4, 49.9).outcome.timing->drift = 0.8;
  night.passed(5, 49.9).outcome.timing->drift = 1.09;
  night.environment.measuring_policy = "cold-1";  // by which the clock probe counted for all
  night.passed(6, 800).outcome.timing->drift = 1.2;
  const Report report = report_of(night);
  const Series& drift = report.telemetry.at(0).series.back();
  REQUIRE(drift.name == "Drift");
  REQUIRE(drift.readings.size() == 6);
  CHECK(drift.readings[0].marked);
  CHECK_FALSE(drift.readings[1].marked);
  CHECK_FALSE(drift.readings[2].marked);
  CHECK(drift.readings[3].marked);
  CHECK_FALSE(drift.readings[4].marked);
  CHECK(drift.readings[5].marked);
  CHECK(drift.marked == 3);
}

TEST_CASE("the peer's ratio is that of the same run where the config is the same") {
  MadeNight night;
  night.passed(1, 20);
  BenchRow row;
  row.problem = night.problem;
  row.device = db::text(night.device);
  row.config = MadeNight::config(2);
  row.us = 25;
  row.peer_us = 30;
  ReportOptions options;
  options.bench = {row};
  PeerRatio ratio = *report_of(night, "latest", options).problems.at(0).peer;
  CHECK(ratio.ratio == Approx(30.0 / 20));
  CHECK_FALSE(ratio.same_run);
  options.bench[0].config = MadeNight::config(1);
  ratio = *report_of(night, "latest", options).problems.at(0).peer;
  CHECK(ratio.ratio == Approx(30.0 / 25));
  CHECK(ratio.same_run);
  options.bench[0].peer_us.reset();
  CHECK(report_of(night, "latest", options).problems.at(0).peer->refused);
  options.bench[0].device = "another";
  CHECK_FALSE(report_of(night, "latest", options).problems.at(0).peer);
  options.bench = {row};
  options.bench[0].problem.m = 7;
  CHECK_FALSE(report_of(night, "latest", options).problems.at(0).peer);
}

TEST_CASE("what the vendor took beside the best is its ratio, before a CSV's of another run", "[vendor]") {
  MadeNight night;
  night.passed(1, 20);
  const db::Record& best = night.entries.back();
  db::VendorTimes times;
  times.problem = best.task.problem();
  times.device = best.device;
  times.first = {30, 0.01, "#0"};
  times.best = {25, 0.01, "#1"};
  times.beside.push_back({best.config, best.plan_hash, 20});
  ReportOptions options;
  options.vendor = db::VendorIndex({times});
  const Report report = report_of(night, "latest", options);
  CHECK(report.problems.at(0).peer->ratio == Approx(25.0 / 20));
  CHECK(report.problems.at(0).peer->same_run);
  CHECK(has_peer(report));
  BenchRow row;
  row.problem = night.problem;
  row.device = db::text(night.device);
  row.config = MadeNight::config(2);
  row.us = 25;
  row.peer_us = 40;
  options.bench = {row};
  CHECK(report_of(night, "latest", options).problems.at(0).peer->ratio == Approx(25.0 / 20));
  options.bench[0].config = MadeNight::config(1);
  CHECK(report_of(night, "latest", options).problems.at(0).peer->ratio == Approx(40.0 / 25));
  options.bench.clear();
  times.beside[0].median_us = 21;  // of another final benchmark
  options.vendor = db::VendorIndex({times});
  CHECK_FALSE(report_of(night, "latest", options).problems.at(0).peer);
  CHECK_FALSE(has_peer(report_of(night, "latest", options)));
  times.first = times.best = {};
  times.beside.clear();
  times.message = "cuBLASLt offers no algorithm";
  options.vendor = db::VendorIndex({times});
  CHECK(report_of(night, "latest", options).problems.at(0).peer->refused);
}

TEST_CASE("a workload gives weights, and tells what was not reached") {
  MadeNight night;
  night.passed(1, 20);
  Problem other = night.problem;
  other.m = 2048;
  ReportOptions options;
  options.workload = Workload{"night", {{night.problem, 3}, {other, 2}}};
  const Report report = report_of(night, "latest", options);
  CHECK(report.problems.at(0).weight == 3);
  REQUIRE(report.not_reached.size() == 1);
  CHECK(report.not_reached[0].task.problem() == other);
}

TEST_CASE("rates are GB/s where memory bounds the problem, of the peak that bounds it") {
  const Problem cube = packed_problem({*find_type_pair("f16f32"), {}}, 4096, 4096, 4096);
  const Rate compute = rate_of(cube, made_device(), 200);
  CHECK(compute.unit == "TFLOP/s");
  CHECK(compute.value == Approx(2.0 * 4096 * 4096 * 4096 / 200e6));
  CHECK(*compute.of_peak == Approx(compute.value / 989).epsilon(0.01));
  const Problem row = packed_problem({*find_type_pair("f16f32"), {}}, 1, 4096, 4096);
  const Rate memory = rate_of(row, made_device(), 10);
  CHECK(memory.unit == "GB/s");
  CHECK(memory.value == Approx((4096 * 2 + 4096.0 * 4096 * 2 + 4096 * 4) * 1e-9 / 10e-6));
  CHECK(*memory.of_peak == Approx(memory.value / 4900));
  db::DeviceIdentity unknown;
  CHECK_FALSE(rate_of(cube, unknown, 200).of_peak);
}

TEST_CASE("another hour goes where the last doubling brought most, weighed by weight and time") {
  OutlookProblem still_falling;
  still_falling.curve_us = {100, 100, 100, 100, 100, 90, 90, 80, 80, 80};
  still_falling.best_us = 80;
  still_falling.seconds_per_evaluation = 60;
  OutlookProblem settled = still_falling;
  settled.curve_us = {90, 85, 80, 80, 80, 80, 80, 80, 80, 80};
  OutlookProblem noisy = still_falling;
  noisy.spread = 0.3;
  OutlookProblem never = still_falling;
  never.curve_us.assign(10, 0);
  never.best_us = 0;
  OutlookProblem untried = still_falling;
  untried.curve_us = {100, 80};

  const Outlook alone = outlook({still_falling});
  const ProblemOutlook& look = alone.problems[0];
  CHECK(look.prospect == Prospect::gains);
  CHECK(look.last_doubling == Approx(std::log(100.0 / 80)));
  CHECK(look.minutes == 60);
  CHECK(look.evaluations == Approx(60));
  CHECK(look.expected_us == Approx(80 * std::pow(80.0 / 100, 60.0 / 70)));
  CHECK(look.saved_us == Approx(80 - look.expected_us));

  const Outlook all = outlook({settled, still_falling, noisy, never, untried});
  CHECK(all.problems[0].prospect == Prospect::settled);
  CHECK(all.problems[2].prospect == Prospect::settled);
  CHECK(all.problems[3].prospect == Prospect::no_time);
  CHECK(all.problems[4].prospect == Prospect::too_few);
  CHECK(all.problems[4].minutes == 6);  // six evaluations of a minute
  CHECK(all.ranking == std::vector<std::size_t>{4, 1});
  CHECK(all.problems[1].minutes == 54);

  OutlookProblem heavy = still_falling;
  heavy.weight = 5;
  const Outlook weighed = outlook({still_falling, heavy});
  CHECK(weighed.ranking.at(0) == 1);
  CHECK(weighed.problems[1].minutes > weighed.problems[0].minutes);
  CHECK(weighed.problems[0].minutes + weighed.problems[1].minutes == 60);

  OutlookProblem at_peak = still_falling;
  at_peak.floor_us = 79;
  CHECK(outlook({at_peak}).problems[0].expected_us == 79);
  CHECK(outlook({settled}).minutes_unused == 60);
}

TEST_CASE("moments are read and written as UTC") {
  CHECK(*utc_seconds("1970-01-02T00:00:01.500Z") == 86401.5);
  CHECK(utc_text(*utc_seconds("2026-02-28T23:59:59.999Z")) == "2026-02-28T23:59:59.999Z");
  CHECK(utc_minutes(*parse_moment("2026-01-31T22:05")) == "2026-01-31 22:05");
  CHECK(*parse_moment("2026-01-31") == *parse_moment("2026-01-31 00:00:00Z"));
  CHECK_FALSE(parse_moment("yesterday"));
  CHECK_FALSE(parse_moment("2026-02-30"));
}
