// Weights that are calls: a run's time is shared out by calls x time.
#include "tests/catch.hpp"
#include "tests/tuner/tune_toy.hpp"
#include "tuner/loop/call_shares.hpp"

using namespace tilesmith;
using namespace tilesmith::tuner;
using namespace tilesmith::tuner::toy;

namespace {

Workload called(std::initializer_list<std::pair<std::int64_t, double>> calls_by_size) {
  Workload workload{"called", {}, true};
  for (const auto& [size, calls] : calls_by_size) workload.tasks.push_back({square(size), calls});
  return workload;
}

}  // namespace

TEST_CASE("a share is calls times the best time on record, or an estimate that is no less than a launch") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  for (const double us : {30.0, 20.0, 25.0}) store.record(record_of(evaluator, square(64), kOptimum, ok(us)));
  const std::vector<double> shares = call_shares(called({{64, 3}, {32, 5}, {2048, 1}}), store, evaluator.device());
  REQUIRE(shares.size() == 3);
  CHECK(shares[0] == Approx(60));
  CHECK(shares[1] == Approx(10));
  CHECK(shares[2] > 1000);  // 17 GFLOP on a device whose peaks are not known
  Workload weighted = called({{64, 3}});
  weighted.weights_are_calls = false;
  CHECK(call_shares(weighted, store, evaluator.device()).empty());
}

TEST_CASE("with a budget, what takes most of a program's time is tuned first and longest") {
  ToyEvaluator evaluator;
  db::Store store = db::Store::in_memory();
  TuneOptions options = options_for(evaluator);
  options.budget = std::chrono::seconds(60);
  options.finalists = 0;
  std::vector<std::int64_t> order;
  const auto note = [&](const Progress& now) {
    if (order.empty() || order.back() != now.task.problem().m) order.push_back(now.task.problem().m);
  };
  tune(called({{64, 1000}, {2048, 10}, {1024, 8}}), options, evaluator, store, note, kNeverStop);
  REQUIRE(order.size() >= 3);
  CHECK(order[0] == 2048);  // 34 ms of 40
  CHECK(order[1] == 1024);
  CHECK(order[2] == 64);
  const auto tried = [&](std::int64_t size) { return store.records(of_problem(square(size))).size(); };
  CHECK(tried(2048) > 3 * tried(1024));
  CHECK(tried(64) >= 1);
  CHECK(tried(64) < tried(1024));
}
