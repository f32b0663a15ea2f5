// The drill: candidates that fail in every way, in real worker processes on a real device. Each must be recorded with
// its status, and the run must go on.
#include <chrono>
#include <map>

#include "db/store/store.hpp"
#include "tests/catch.hpp"
#include "tests/db/bests.hpp"
#include "tests/gpu/drill_family.hpp"
#include "tuner/loop/tune.hpp"
#include "tuner/workers/device_evaluator.hpp"

namespace tilesmith::test_drill {
using tilesmith::test::DrillKind;

namespace {

tuner::DeviceEvaluatorOptions drill_options() {
  tuner::DeviceEvaluatorOptions options;
  options.compile_processes = 2;
  options.time_limit = std::chrono::seconds(3);
  options.compile_limit = std::chrono::seconds(10);
  return options;
}

Problem drill_problem(std::int64_t m = 96) { return packed_problem({*find_type_pair("f64f64"), {}}, m, 80, 64); }

}  // namespace

TEST_CASE("candidates that fail on the device are outcomes, and the next candidate is timed as ever", "[drill]") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  const auto evaluator = tuner::make_device_evaluator(store, drill_options());

  const std::map<DrillKind, db::Status> expected{
      {test::kDrillOk, db::Status::ok},
      {test::kDrillCompileError, db::Status::compile_failed},
      {test::kDrillTooBig, db::Status::launch_failed},
      {test::kDrillFault, db::Status::device_fault},
      {test::kDrillHang, db::Status::timed_out},
      {test::kDrillWrong, db::Status::mismatch},
      {test::kDrillCompilerCrash, db::Status::compile_failed},
      {test::kDrillCompilerHang, db::Status::compile_failed},
      {test::kDrillLaunchRefused, db::Status::launch_failed},
      {test::kDrillOkToo, db::Status::ok},
  };
  for (const auto& [kind, status] : expected)
    evaluator->submit({drill_problem(), test::drill_config(kind)}, std::nullopt);
  std::map<std::string, db::Outcome> outcomes;
  while (evaluator->in_flight() > 0) {
    const tuner::Evaluated evaluated = evaluator->next();
    outcomes[evaluated.candidate.config.text()] = evaluated.outcome;
  }
  for (const auto& [kind, status] : expected) {
    const db::Outcome& outcome = outcomes.at(test::drill_config(kind).text());
    INFO(test::drill_config(kind).text() << ": " << outcome.message);
    CHECK(db::name(outcome.status) == db::name(status));
    CHECK(outcome.timing.has_value() == (status == db::Status::ok));
    if (status == db::Status::ok && !outcome.message.empty()) {
      CHECK(outcome.message.rfind("disturbed: ", 0) == 0);
    } else {
      CHECK(outcome.message.empty() == (status == db::Status::ok));
    }
  }

  SECTION("a right kernel is timed after all of that, on another problem") {
    evaluator->submit({drill_problem(200), test::drill_config(test::kDrillOk)}, std::nullopt);
    const tuner::Evaluated evaluated = evaluator->next();
    INFO(evaluated.outcome.message);
    REQUIRE(evaluated.outcome.status == db::Status::ok);
    CHECK(evaluated.outcome.timing->median_us > 0);
    CHECK(evaluated.outcome.timing->samples >= 3);
  }
  SECTION("a kernel that the suite condemned is not run again on another problem") {
    const auto start = std::chrono::steady_clock::now();
    evaluator->submit({drill_problem(200), test::drill_config(test::kDrillHang)}, std::nullopt);
    evaluator->submit({drill_problem(200), test::drill_config(test::kDrillWrong)}, std::nullopt);
    std::map<std::string, db::Status> statuses;
    while (evaluator->in_flight() > 0) {
      const tuner::Evaluated evaluated = evaluator->next();
      statuses[evaluated.candidate.config.text()] = evaluated.outcome.status;
    }
    CHECK(statuses.at(test::drill_config(test::kDrillHang).text()) == db::Status::timed_out);
    CHECK(statuses.at(test::drill_config(test::kDrillWrong).text()) == db::Status::mismatch);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));
  }
  SECTION("finalists are played off") {
    const std::vector<Config> finalists{test::drill_config(test::kDrillOk), test::drill_config(test::kDrillOkToo)};
    const std::vector<db::Outcome> played = evaluator->final_benchmark(drill_problem(), finalists);
    REQUIRE(played.size() == 2);
    for (const db::Outcome& outcome : played) {
      INFO(outcome.message);
      REQUIRE(outcome.status == db::Status::ok);
      CHECK(outcome.timing->samples >= 15);
    }
  }
  SECTION("a finalist that cannot be launched is left out of the final benchmark of the others") {
    const std::vector<Config> finalists{test::drill_config(test::kDrillLaunchRefused),
        test::drill_config(test::kDrillOk), test::drill_config(test::kDrillOkToo)};
    const std::vector<db::Outcome> played = evaluator->final_benchmark(drill_problem(), finalists);
    CHECK(db::name(played.at(0).status) == db::name(db::Status::launch_failed));
    for (const std::size_t i : {1, 2}) {
      INFO(played.at(i).message);
      REQUIRE(played[i].status == db::Status::ok);
      CHECK(played[i].timing->samples >= 15);
    }
  }
  SECTION("a faulting finalist fails by itself") {
    const std::vector<Config> finalists{test::drill_config(test::kDrillOk), test::drill_config(test::kDrillFault)};
    const std::vector<db::Outcome> played = evaluator->final_benchmark(drill_problem(), finalists);
    CHECK(db::name(played.at(0).status) == db::name(db::Status::ok));
    CHECK(db::name(played.at(1).status) == db::name(db::Status::device_fault));
  }
}

TEST_CASE("a tuning run over failing candidates ends with the right ones and records of all", "[drill]") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  const auto evaluator = tuner::make_device_evaluator(store, drill_options());
  tuner::TuneOptions options;
  options.strategy = "exhaustive";
  options.families = {"drill"};
  const tuner::Workload workload{"drill", {{drill_problem(), 1}}};
  const std::atomic<bool> stop{false};
  const tuner::TuneResult result = tuner::tune(workload, options, *evaluator, store, {}, stop);
  CHECK(result.ended_how == "done");
  CHECK(result.evaluated == test::kDrillKinds);
  CHECK(result.failed == test::kDrillKinds - 2);
  const std::vector<db::JudgedBest> best = db::test::bests_of(store);
  REQUIRE(best.size() == 1);
  const std::string winner = best.front().record.config.text();
  CHECK(
      (winner == test::drill_config(test::kDrillOk).text() || winner == test::drill_config(test::kDrillOkToo).text()));

  const tuner::TuneResult again = tuner::tune(workload, options, *evaluator, store, {}, stop);
  CHECK(again.evaluated == 0);
  CHECK(again.reused == test::kDrillKinds);
}

}  // namespace tilesmith::test_drill
