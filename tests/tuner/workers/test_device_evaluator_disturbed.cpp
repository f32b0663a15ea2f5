// What was timed on a disturbed device is postponed and timed again.
#include <chrono>

#include "db/store/store.hpp"
#include "tests/catch.hpp"
#include "tests/tuner/workers/drilled_evaluator.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tests;

TEST_CASE("a candidate timed on a disturbed device is queued again behind the others") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  const auto evaluator = make_device_evaluator(store, options_for(), fictional_device());
  const Problem problem = drill_problem(tests::kDisturbedOnceM);
  for (const test::DrillKind kind :
      {test::kDrillOk, test::kDrillOkToo}) {  // so that neither waits for a compiler below
    CHECK(evaluate(*evaluator, kind).status == db::Status::ok);
  }
  evaluator->submit({problem, test::drill_config(test::kDrillOk)}, std::nullopt);
  evaluator->submit({problem, test::drill_config(test::kDrillOkToo)}, std::nullopt);
  const Evaluated first = evaluator->next();
  CHECK(first.candidate.config == test::drill_config(test::kDrillOkToo));
  CHECK(evaluator->in_flight() == 1);
  const Evaluated again = evaluator->next();
  CHECK(again.candidate.config == test::drill_config(test::kDrillOk));
  for (const Evaluated& evaluated : {first, again}) {
    CHECK(evaluated.outcome.status == db::Status::ok);
    CHECK(evaluated.outcome.message.empty());
  }
}

TEST_CASE("what stays disturbed is taken after three times, and what comes next at once, each saying so") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  const auto evaluator = make_device_evaluator(store, options_for(), fictional_device());
  const Problem problem = drill_problem(tests::kDisturbedM);
  const db::Outcome first = evaluate(*evaluator, test::kDrillOk, problem);
  CHECK(first.status == db::Status::ok);
  CHECK(first.timing->median_us == Approx(100));
  CHECK(first.message == "disturbed: throttled, 3");
  CHECK(evaluate(*evaluator, test::kDrillOkToo, problem).message == "disturbed: throttled, 4");
}

TEST_CASE("a candidate that was postponed waits also where it is alone") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  DeviceEvaluatorOptions options = options_for();
  options.postpone_for = std::chrono::milliseconds(400);
  const auto evaluator = make_device_evaluator(store, options, fictional_device());
  CHECK(evaluate(*evaluator, test::kDrillOk).status == db::Status::ok);  // compiled, and the measuring process is up
  const auto began = std::chrono::steady_clock::now();
  CHECK(evaluate(*evaluator, test::kDrillOk, drill_problem(tests::kDisturbedOnceM)).message.empty());
  CHECK(std::chrono::steady_clock::now() - began >= options.postpone_for);
}

TEST_CASE("a time of a disturbed device is nobody's control") {
  const test::DrillEnabled drill;
  db::Store store = db::Store::in_memory();
  const auto evaluator = make_device_evaluator(store, options_for(), fictional_device());
  for (const test::DrillKind kind : {test::kDrillOk, test::kDrillOkToo}) {  // so that both kernels are at hand
    CHECK(evaluate(*evaluator, kind).status == db::Status::ok);
  }
  const auto time_beside = [&](const Problem& problem, bool disturbed) {
    evaluator->submit(
        {problem, test::drill_config(test::kDrillOk)}, Incumbent{test::drill_config(test::kDrillOkToo), 60, disturbed});
    return evaluator->next().outcome.timing->median_us;
  };
  CHECK(time_beside(drill_problem(2048), true) < 1000);
  CHECK(time_beside(drill_problem(4096), false) > 1000);
}
